/**
 * Opens a data folder, starts its database, migrates and stops it. Prints the user of the server (`user UID`) and at the
 * end `stopped`.
 *
 *   start-and-stop.ts <data folder>
 */

import { openDataFolder } from "../../kernel/data-folder.ts";
import { migrate } from "../../kernel/database/migrate.ts";
import { openPools } from "../../kernel/database/pool.ts";
import { startEmbeddedPostgres } from "../../kernel/postgres/embedded.ts";
import { silentLog } from "../database.ts";
import { userOf } from "../processes.ts";

const folder = await openDataFolder({ folder: process.argv[2] ?? "", profile: "sandbox", log: silentLog });
const postgres = await startEmbeddedPostgres({ folder: folder.root, log: silentLog });
const pools = await openPools({ target: postgres.connection, log: silentLog });
await migrate({ owner: pools.owner, log: silentLog });
await pools.app.query("select from applications");
process.stdout.write(`user ${await userOf(postgres.pid)}\n`);
await pools.close();
await postgres.stop();
await folder.close();
process.stdout.write("stopped\n");
