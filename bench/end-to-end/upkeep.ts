/**
 * Runs the upkeep of one vault as the service's worker does it once a day, then removes what nothing needs any more, and ends when both are done:
 *
 *   node bench/end-to-end/upkeep.ts DATA_FOLDER VAULT_ID
 */

import { setTimeout as sleep } from "node:timers/promises";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import { embeddedDatabase } from "./embedded-database.ts";

const [dataFolder = "", vaultId = ""] = process.argv.slice(2);

/** Short beside the work. */
const pollMs = 20;

await withConnection(embeddedDatabase(dataFolder, "postgres"), async (client) => {
  // The daily run may have happened already while the race was on.
  const text = "update emanet.vaults set repacked_at = null where id = $1 returning account_id";
  const { rows } = await client.query<{ account_id: string }>(text, [vaultId]);
  const accountId = rows[0]?.account_id;
  if (accountId === undefined) throw new Error(`there is no vault ${vaultId}`);
  const payload = JSON.stringify({ accountId, vaultId });
  for (const task of ["upkeep.run_vault", "snapshots.prune_vault"]) {
    const now = new Date();
    const job = [task, payload, vaultId, `upkeep ${vaultId}`, now];
    await client.query("select emanet.enqueue_job(gen_random_uuid(), $1, $2, $3, $4, 3, $5, $5)", job);
    // It may be planned for later already.
    await client.query("update emanet.jobs set run_at = $3 where task = $1 and key = $2 and run_at > $3", [
      ...[task, vaultId, now],
    ]);
    await client.query("select pg_notify('emanet_jobs', '')");
    const waiting = `select failed_at is not null as failed from emanet.jobs
      where task = $1 and key = $2 and (failed_at >= $3 or failed_at is null and run_at <= $3)`;
    for (;;) {
      const jobs = await client.query<{ failed: boolean }>(waiting, [task, vaultId, now]);
      if (jobs.rows.some(({ failed }) => failed)) throw new Error(`${task} failed`);
      if (jobs.rows.length === 0) break;
      await sleep(pollMs);
    }
  }
});
