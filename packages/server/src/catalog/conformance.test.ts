import { after } from "node:test";
import { catalogConformance } from "@emanet/engine/testing";
import { testDatabase } from "../testing/database.ts";
import { makeVault, openCatalog, testTransactions } from "./testing/vaults.ts";

const { app } = await testDatabase({ after });
const transactions = testTransactions(app);

catalogConformance("PostgreSQL", async () => openCatalog(transactions, await makeVault(transactions)));
