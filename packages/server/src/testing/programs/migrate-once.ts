/** Migrates the database of its argument (a target as JSON) and says which migrations it applied, as JSON. */

import { migrate } from "../../kernel/database/migrate.ts";
import { openPools } from "../../kernel/database/pool.ts";
import type { DatabaseTarget } from "../../kernel/database/target.ts";
import { silentLog } from "../database.ts";

const target = JSON.parse(process.argv[2] ?? "") as DatabaseTarget;
const pools = await openPools({ target, log: silentLog });
const applied = await migrate({ owner: pools.owner, log: silentLog });
await pools.close();
process.stdout.write(`${JSON.stringify(applied)}\n`);
