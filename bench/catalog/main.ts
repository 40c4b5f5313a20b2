/**
 * `npm run bench:catalog`: what steps of the catalog cost in one big vault, and in many small ones. PostgreSQL is the embedded
 * server with its ordinary durability. It prints milliseconds.
 *
 *   npm run bench:catalog -- 1000000 3000     items of the big vault, and small vaults
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock, systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { migrate } from "../../packages/server/src/kernel/database/migrate.ts";
import { openPools } from "../../packages/server/src/kernel/database/pool.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/postgres/embedded.ts";
import { createTransactions } from "../../packages/server/src/kernel/tx.ts";
import { silentLog } from "../../packages/server/src/testing/database.ts";
import { measureBigVault } from "./big-vault.ts";
import { measureSmallVaults } from "./small-vaults.ts";

const items = Number(process.argv[2] ?? 1_000_000);
const vaults = Number(process.argv[3] ?? 3_000);

const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-catalog-"));
const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
try {
  const pools = await openPools({ target: postgres.connection, log: silentLog });
  await migrate({ owner: pools.owner, log: silentLog });
  const transactions = createTransactions(pools.app, systemClock, systemRandom, silentLog);
  if (items > 0) await measureBigVault({ transactions, owner: pools.owner, items });
  if (vaults > 0) await measureSmallVaults({ transactions, owner: pools.owner, vaults });
  await pools.close();
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
