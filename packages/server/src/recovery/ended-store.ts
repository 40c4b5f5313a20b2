/** Ends what an older database has given to somebody, and what could have been changed since. */

import type { Pool } from "pg";

/** More events than an account has in the life of a database. */
const skippedEvents = 1_000_000_000;

const ended = [
  "delete from emanet.oauth_artifacts",
  "delete from emanet.otp_challenges",
  "delete from emanet.links",
  "delete from emanet.download_links",
  "delete from emanet.devices",
  // Clients that have read later events go on behind them, and learn that some are gone.
  `update emanet.event_heads set sequence = sequence + ${skippedEvents}, expired_through = sequence + ${skippedEvents}`,
  "update emanet.accounts set erased_at = null where erased_at is not null",
  // The store is asked again whether it has something of an erased vault.
  "update emanet.erasures set checked_at = null",
];

/** `$1` is the application's time, which decides what is due. A sandbox may be days ahead of PostgreSQL. */
const endedAt = [
  "update emanet.audit_shares set revoked_at = $1, revoked_by = created_by where revoked_at is null",
  "update emanet.pending_acts set due_at = greatest(due_at, $1::timestamptz + interval '72 hours') where state = 'waiting'",
  "update emanet.recovery_kits set ready_at = greatest(ready_at, $1::timestamptz + interval '24 hours') where state = 'waiting'",
  // They may have been carried out or canceled since. An agent that writes such files again would overwrite newer ones.
  `update emanet.restores set state = 'canceled', failure_code = 'canceled', ended_at = $1, version = version + 1
   where target_kind = 'agent' and state in ('pending', 'running')`,
  // An owner may have canceled it since. Staff can ask again.
  "update emanet.second_factor_resets set state = 'canceled', decided_at = $1 where state = 'waiting'",
  // People and accounts that were erased after the dump: what it still has of them goes too.
  `update emanet.audit_identities i set sealed_key = null, sealed_identity = null, erased_at = $1, changed_at = $1
   from emanet.people p where p.id = i.person_id and p.email = p.id || '@erased.invalid' and i.erased_at is null`,
  "update emanet.snapshots set deleted_at = $1 where state = 'deleted' and removed_at is null",
];

/** In one transaction; returns the number of sessions that ended. */
export async function endWhatWasGiven(owner: Pool, now: Date): Promise<number> {
  const client = await owner.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    const { rowCount } = await client.query(
      "update emanet.sessions set revoked_at = $1, revoked_reason = 'recovered' where revoked_at is null",
      [now],
    );
    for (const statement of ended) await client.query(statement);
    for (const statement of endedAt) await client.query(statement, [now]);
    await client.query("commit");
    return rowCount ?? 0;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}
