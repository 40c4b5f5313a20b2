/** All SQL of OAuth. Runs with row access `platform`: the library's rows belong to no account. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";

/** A stored row; the caller has encrypted the payload. */
export interface Artifact {
  readonly kind: string;
  readonly idHash: Buffer;
  readonly grantId: string | null;
  readonly userCodeHash: Buffer | null;
  readonly uidHash: Buffer | null;
  readonly sealedPayload: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly consumedAt: Date | null;
}

/** The columns by which a row can be found. */
export type ArtifactKey = "id_hash" | "user_code_hash" | "uid_hash";

export async function findArtifact(
  tx: Tx,
  kind: string,
  key: ArtifactKey,
  hash: Buffer,
  /** `locked`: the row stays locked until the end of the transaction. */
  how: "read" | "locked" = "read",
): Promise<Artifact | undefined> {
  const row = await tx.db
    .selectFrom("oauth_artifacts")
    .selectAll()
    .where("kind", "=", kind)
    .where(key, "=", hash)
    .$if(how === "locked", (query) => query.forUpdate())
    .executeTakeFirst();
  return (
    row && {
      kind: row.kind,
      idHash: row.id_hash,
      grantId: row.grant_id,
      userCodeHash: row.user_code_hash,
      uidHash: row.uid_hash,
      sealedPayload: row.sealed_payload,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      consumedAt: row.consumed_at,
    }
  );
}

/** Inserts or updates a row. A consumed row stays consumed: a late write must not make a code valid again. */
export async function saveArtifact(tx: Tx, artifact: Omit<Artifact, "createdAt" | "consumedAt">): Promise<void> {
  const changing = {
    grant_id: artifact.grantId,
    user_code_hash: artifact.userCodeHash,
    uid_hash: artifact.uidHash,
    sealed_payload: artifact.sealedPayload,
    expires_at: artifact.expiresAt,
  };
  await tx.db
    .insertInto("oauth_artifacts")
    .values({ kind: artifact.kind, id_hash: artifact.idHash, created_at: tx.now, consumed_at: null, ...changing })
    .onConflict((conflict) => conflict.columns(["kind", "id_hash"]).doUpdateSet(changing))
    .execute();
}

/** Inserts a row unless a valid one exists; returns whether it was inserted. Of parallel calls exactly one succeeds. */
export async function saveNewArtifact(
  tx: Tx,
  artifact: Pick<Artifact, "kind" | "idHash" | "sealedPayload" | "expiresAt">,
): Promise<boolean> {
  const written = await tx.db
    .insertInto("oauth_artifacts")
    .values({
      kind: artifact.kind,
      id_hash: artifact.idHash,
      sealed_payload: artifact.sealedPayload,
      created_at: tx.now,
      expires_at: artifact.expiresAt,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["kind", "id_hash"])
        .doUpdateSet({ expires_at: artifact.expiresAt, created_at: tx.now })
        .where("oauth_artifacts.expires_at", "<=", tx.now),
    )
    .returning("kind")
    .execute();
  return written.length === 1;
}

/**
 * Locks a grant until the end of the transaction: no other transaction redeems or deletes rows of it. It is taken before
 * the row locks; otherwise parallel transactions could deadlock.
 */
export async function lockGrant(tx: Tx, grantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`oauth_grant ${grantId}`}, 0))`.execute(tx.db);
}

/** Redeems a row; false when it is deleted or already redeemed. Of parallel calls exactly one gets true. Under {@link lockGrant}. */
export async function consumeArtifact(tx: Tx, kind: string, idHash: Buffer): Promise<boolean> {
  const changed = await tx.db
    .updateTable("oauth_artifacts")
    .set({ consumed_at: tx.now })
    .where("kind", "=", kind)
    .where("id_hash", "=", idHash)
    .where("consumed_at", "is", null)
    .returning("kind")
    .execute();
  return changed.length === 1;
}

export interface PollRules {
  readonly firstSeconds: number;
  readonly stepSeconds: number;
  readonly longestSeconds: number;
  readonly graceMs: number;
}

/** Records a poll; true when it came too early, and then the interval grows. One transaction at a time per code. */
export async function countPoll(tx: Tx, idHash: Buffer, rules: PollRules): Promise<boolean> {
  const { rows } = await sql<{ too_soon: boolean }>`
    with asked as (
      select id_hash, coalesce(poll_interval_s, ${rules.firstSeconds}::integer) as seconds, polled_at
      from emanet.oauth_artifacts where kind = 'DeviceCode' and id_hash = ${idHash} for update
    ), decided as (
      select id_hash, seconds,
        coalesce(${tx.now}::timestamptz < polled_at + make_interval(secs => seconds - ${rules.graceMs / 1000}::float8), false)
          as too_soon
      from asked
    )
    update emanet.oauth_artifacts as kept set
      polled_at = ${tx.now},
      poll_interval_s = case when decided.too_soon
        then least(decided.seconds + ${rules.stepSeconds}::integer, ${rules.longestSeconds}::integer) else decided.seconds end
    from decided where kept.kind = 'DeviceCode' and kept.id_hash = decided.id_hash
    returning decided.too_soon`.execute(tx.db);
  return rows[0]?.too_soon ?? false;
}

export async function deleteArtifact(tx: Tx, kind: string, idHash: Buffer): Promise<void> {
  await tx.db.deleteFrom("oauth_artifacts").where("kind", "=", kind).where("id_hash", "=", idHash).execute();
}

/** Deletes a grant and everything that was issued from it. Under {@link lockGrant}. */
export async function deleteByGrant(tx: Tx, grantId: string): Promise<void> {
  await tx.db.deleteFrom("oauth_artifacts").where("grant_id", "=", grantId).execute();
}

/** A grant is valid as long as its newest refresh token. */
export async function prolongGrant(tx: Tx, grantId: string, expiresAt: Date): Promise<void> {
  await tx.db
    .updateTable("oauth_artifacts")
    .set({ expires_at: expiresAt })
    .where("kind", "=", "Grant")
    .where("grant_id", "=", grantId)
    .where("expires_at", "<", expiresAt)
    .execute();
}

/** Deletes up to `limit` rows that expired before the given time; returns their number. */
export async function purgeArtifacts(tx: Tx, before: Date, limit: number): Promise<number> {
  const purged = await sql`
    delete from emanet.oauth_artifacts where ctid = any (array(
      select ctid from emanet.oauth_artifacts where expires_at < ${before} limit ${limit} for update skip locked
    ))`.execute(tx.db);
  return Number(purged.numAffectedRows ?? 0);
}

/** Counts one more wrong code and returns the count. A count that started before the given time starts again. */
export async function addFailure(tx: Tx, id: Buffer, since: Date): Promise<number> {
  const { rows } = await sql<{ failures: number }>`
    insert into emanet.oauth_user_code_tries as t (id, failures, started_at) values (${id}, 1, ${tx.now})
    on conflict (id) do update set
      failures = case when t.started_at > ${since} then t.failures + 1 else 1 end,
      started_at = case when t.started_at > ${since} then t.started_at else excluded.started_at end
    returning failures`.execute(tx.db);
  return rows[0]?.failures ?? 0;
}

/** Subtracts one. */
export async function forgiveFailure(tx: Tx, id: Buffer): Promise<void> {
  await tx.db.deleteFrom("oauth_user_code_tries").where("id", "=", id).where("failures", "<=", 1).execute();
  await tx.db.updateTable("oauth_user_code_tries").set({ failures: sql`failures - 1` }).where("id", "=", id).execute();
}

export async function purgeFailures(tx: Tx, before: Date): Promise<void> {
  await tx.db.deleteFrom("oauth_user_code_tries").where("started_at", "<", before).execute();
}
