/** The SQL of late backups: sources whose next snapshot was expected and has not come. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface OverdueSource {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  /** Its newest completed snapshot. */
  readonly last_snapshot_id: string | null;
  readonly expected_at: Date;
}

/** Late, and nothing was said of it since its newest good snapshot. */
const isOverdue = (now: Date) => sql<boolean>`(s.expected_every_s is not null and s.deleted_at is null
  and coalesce(s.last_good_at, s.created_at) + make_interval(secs => s.expected_every_s) < ${now}::timestamptz
  and (s.overdue_at is null or s.overdue_at <= s.last_good_at))`;

/** Sources of active accounts that are overdue. Row access `system`. */
export async function overdueSources(
  tx: ReadTx,
  limit: number,
): Promise<readonly { id: string; account_id: string }[]> {
  const { rows } = await sql<{ id: string; account_id: string }>`
    select s.id, s.account_id from sources s join accounts a on a.id = s.account_id
    where a.state = 'active' and ${isOverdue(tx.now)} order by s.id limit ${limit}`.execute(tx.db);
  return rows;
}

/** Notes that a source is overdue. Undefined when it is not any more, or somebody else has noted it. */
export async function noteOverdue(tx: Tx, accountId: string, id: string): Promise<OverdueSource | undefined> {
  const { rows } = await sql<OverdueSource>`
    update sources s set overdue_at = ${tx.now}
    where s.account_id = ${accountId} and s.id = ${id} and ${isOverdue(tx.now)}
    returning s.id, s.account_id, s.vault_id,
      (select n.id from snapshots n where n.source_id = s.id and n.state = 'completed'
        order by n.completed_at desc, n.id desc limit 1) as last_snapshot_id,
      coalesce(s.last_good_at, s.created_at) + make_interval(secs => s.expected_every_s) as expected_at`.execute(tx.db);
  return rows[0];
}
