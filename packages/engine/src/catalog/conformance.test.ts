import { catalogConformance } from "../testing/catalog-conformance.ts";
import { testContext } from "../testing/test-environment.ts";
import { MemoryCatalog } from "./memory.ts";
import { openSqliteCatalog } from "./sqlite/sqlite.ts";

catalogConformance("memory", () => new MemoryCatalog(testContext(1)));
catalogConformance("SQLite", () => openSqliteCatalog(":memory:", testContext(1)));
