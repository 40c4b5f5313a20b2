/** What must be left when nothing is being uploaded: as many objects and bytes as the catalog knows, and nobody who holds anything. */

import { readdir } from "node:fs/promises";
import path from "node:path";
import type { ServiceUnderTest } from "./service-under-test.ts";

/** Everything that is wrong; all empty when nothing was left behind. */
export interface Leftovers {
  /** States of uploads that are open. */
  readonly openUploads: readonly string[];
  /** Rows of running uploads in the catalog: leases, pins, reservations. */
  readonly catalogRows: readonly string[];
  /** Vaults whose counted bytes differ from those of their packs. */
  readonly wrongQuotas: readonly string[];
  /** Packs and manifests in the store without a row, and rows without one. */
  readonly strayObjects: readonly string[];
  /** Snapshots that the API and the catalog do not both have. */
  readonly straySnapshots: readonly string[];
  readonly spoolFiles: readonly string[];
  readonly temporaryFiles: readonly string[];
  /** Advisory locks and transactions that stay open. */
  readonly heldLocks: readonly string[];
  readonly claimedKeys: readonly string[];
  readonly failedJobs: readonly string[];
  /** Completed snapshots that the background has not read back, or found wrong. */
  readonly unverified: readonly string[];
}

export const nothingLeft: Leftovers = {
  ...{ openUploads: [], catalogRows: [], wrongQuotas: [], strayObjects: [], straySnapshots: [], spoolFiles: [] },
  ...{ temporaryFiles: [], heldLocks: [], claimedKeys: [], failedJobs: [], unverified: [] },
};

/** Looks at a service that runs and has nothing to do. */
export async function findLeftovers(service: ServiceUnderTest): Promise<Leftovers> {
  const lines = async (text: string) => (await service.rows<{ line: string }>(text)).map(({ line }) => line);
  const objects = await service.objectFiles();
  return {
    openUploads: await lines(
      "select state || ' ' || upload_kind || ' ' || id as line from emanet.snapshots where state in ('queued', 'running')",
    ),
    catalogRows: await lines(catalogRows),
    wrongQuotas: await lines(wrongQuotas),
    strayObjects: [
      ...different("pack", await lines("select pack as line from emanet.catalog_packs"), leavesOf(objects, "packs")),
      ...different(
        "manifest",
        await lines("select id as line from emanet.catalog_snapshots"),
        leavesOf(objects, "snapshots"),
      ),
    ],
    straySnapshots: different(
      "snapshot",
      await lines("select replace(id::text, '-', '') as line from emanet.snapshots where state = 'completed'"),
      await lines("select id as line from emanet.catalog_snapshots where status <> 'deleting'"),
    ),
    spoolFiles: await service.spoolFiles(),
    temporaryFiles: objects.filter((name) => name.endsWith(".part")),
    heldLocks: await lines(heldLocks),
    claimedKeys: await lines("select operation as line from emanet.idempotency_keys where claim is not null"),
    unverified: await lines(
      `select id::text as line from emanet.snapshots
       where state = 'completed' and (verified_at is null or verification_failed_at is not null)`,
    ),
    failedJobs: await lines(
      "select jobs::text as line from emanet.jobs where emanet.job_state(jobs, now()) = 'failed'",
    ),
  };
}

const catalogRows = ["uploads", "pins", "held", "units", "reservations"]
  .map((table) => `select '${table} ' || count(*) as line from emanet.catalog_${table} having count(*) > 0`)
  .concat("select 'reserved ' || snapshot_id from emanet.uploads where reserved_bytes > 0")
  .join(" union all ");

const wrongQuotas = `
  select v.id || ': ' || v.stored_bytes || ' counted, ' || coalesce(p.size, 0) || ' in packs' as line
  from emanet.vaults v left join (
    select c.vault_id, sum(k.size) as size from emanet.catalogs c join emanet.catalog_packs k using (vault) group by 1
  ) p on p.vault_id = v.id
  where v.stored_bytes <> coalesce(p.size, 0)`;

/** The workers of the job queue hold one lock each, for as long as they live. */
const heldLocks = `
  select 'lock ' || classid || ' ' || objid as line from pg_locks
    where locktype = 'advisory' and classid::bigint <> 1785684595
  union all
  select 'transaction: ' || query from pg_stat_activity where state like 'idle in transaction%'`;

/** The last parts of the names under a folder of each vault. */
function leavesOf(objects: readonly string[], folder: string): string[] {
  return objects.filter((name) => name.split(path.sep).includes(folder)).map((name) => path.basename(name));
}

function different(what: string, rows: readonly string[], found: readonly string[]): string[] {
  const [known, there] = [new Set(rows), new Set(found)];
  return [
    ...found.filter((name) => !known.has(name)).map((name) => `${what} ${name} has no row`),
    ...rows.filter((name) => !there.has(name)).map((name) => `${what} ${name} is only a row`),
  ];
}

/** All files below a folder, with their paths. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}
