/** All SQL of sessions, grants and known devices. `subject-store.ts` reads the rights of a session. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../../kernel/cursors.ts";
import type { OauthClientsRow, SessionsRow } from "../../kernel/database/rows.generated.ts";
import type { OauthScope, TokenKind } from "../../kernel/principal.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { ReadTx, Tx } from "../../kernel/tx.ts";
import { scopesInReview } from "./authenticator.ts";
import { lifetimes, readToken, refreshToken, repeatWindowMs, tokenHash } from "./refresh-tokens.ts";

export type SessionRow = Selectable<SessionsRow>;

export interface NewSession {
  readonly id: string;
  readonly accountId: string | null;
  /** Who acts; null for a machine. */
  readonly personId: string | null;
  readonly clientId: string | null;
  readonly kind: TokenKind;
  /** Its scopes at most; null for all that its person has. */
  readonly scopes: readonly OauthScope[] | null;
  readonly amr: readonly string[];
  readonly authTime: Date;
  readonly life: keyof typeof lifetimes;
}

/** Opens a session; in the scope of its account, or of the platform for staff. */
export async function insertSession(tx: Tx, secrets: Secrets, session: NewSession): Promise<void> {
  const { idleMs, absoluteMs } = lifetimes[session.life];
  await tx.db
    .insertInto("sessions")
    .values({
      id: session.id,
      account_id: session.accountId,
      person_id: session.personId,
      client_id: session.clientId,
      kind: session.kind,
      scopes: session.scopes === null ? null : [...session.scopes],
      amr: [...session.amr],
      auth_time: session.authTime,
      generation: 0,
      refresh_hash: tokenHash(refreshToken(secrets, session.id, 0)),
      created_at: tx.now,
      last_used_at: tx.now,
      idle_expires_at: new Date(tx.now.getTime() + idleMs),
      expires_at: absoluteMs === null ? null : new Date(tx.now.getTime() + absoluteMs),
    })
    .execute();
}

/** A session that has not ended; row access `system`, because a token's account is not known before. */
export async function findLiveSession(tx: ReadTx, id: string): Promise<SessionRow | undefined> {
  const row = await tx.db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  return row !== undefined && isLive(row, tx.now) ? row : undefined;
}

/** A page of one person's sessions that have not ended. */
export async function listLiveSessions(tx: ReadTx, personId: string, page: PageStart): Promise<SessionRow[]> {
  return pageRows(liveSessionsOf(tx, personId), page);
}

/** One of a person's own sessions, while it lives. */
export async function findOwnSession(tx: ReadTx, personId: string, id: string): Promise<SessionRow | undefined> {
  return liveSessionsOf(tx, personId).where("id", "=", id).executeTakeFirst();
}

export async function lockOwnSession(tx: Tx, personId: string, id: string): Promise<SessionRow | undefined> {
  return liveSessionsOf(tx, personId).where("id", "=", id).forUpdate().executeTakeFirst();
}

function liveSessionsOf(tx: ReadTx, personId: string) {
  return tx.db
    .selectFrom("sessions")
    .selectAll()
    .where("person_id", "=", personId)
    .where("revoked_at", "is", null)
    .where("idle_expires_at", ">", tx.now)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]));
}

export type EndReason =
  | "logout"
  | "revoked"
  | "reused"
  | "password_changed"
  | "password_reset"
  | "second_factor_changed"
  | "demoted"
  | "removed";

/** Ends one session; false when it has ended already. Every access token of it is refused from now on. */
export async function revokeSession(tx: Tx, id: string, reason: EndReason): Promise<boolean> {
  const result = await tx.db
    .updateTable("sessions")
    .set({ revoked_at: tx.now, revoked_reason: reason })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Ends all sign-ins of a person except one. `programs.ts` handles their programs. */
export async function revokeSessionsOf(
  tx: Tx,
  personId: string,
  reason: EndReason,
  keep: string | null = null,
): Promise<void> {
  await tx.db
    .updateTable("sessions")
    .set({ revoked_at: tx.now, revoked_reason: reason })
    .where("person_id", "=", personId)
    .where("client_id", "is", null)
    .where("revoked_at", "is", null)
    .where(sql<boolean>`id is distinct from ${keep}`)
    .execute();
}

/** Records that a second factor was checked again. */
export async function refreshAuthTime(tx: Tx, id: string, amr: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("sessions")
    .set({ auth_time: tx.now, amr: [...amr] })
    .where("id", "=", id)
    .execute();
}

/** A session was used: it may be unused for its whole time again. */
export async function prolongSession(tx: Tx, id: string, life: keyof typeof lifetimes): Promise<void> {
  const until = new Date(tx.now.getTime() + lifetimes[life].idleMs);
  await tx.db
    .updateTable("sessions")
    .set({ idle_expires_at: until, last_used_at: tx.now })
    .where("id", "=", id)
    .execute();
}

export type Rotation =
  | { readonly kind: "rotated" | "repeated"; readonly session: SessionRow; readonly token: string }
  | { readonly kind: "reused"; readonly session: SessionRow }
  | { readonly kind: "invalid" };

/** Trades a refresh token for its successor; see the states above. Row access `system`. */
export async function rotateRefreshToken(tx: Tx, secrets: Secrets, token: string): Promise<Rotation> {
  const read = readToken(secrets, token);
  if (read === null) return { kind: "invalid" };
  const { sessionId, generation } = read;
  const next = refreshToken(secrets, sessionId, generation + 1);
  const swapped = await tx.db
    .updateTable("sessions")
    .set({ generation: generation + 1, refresh_hash: tokenHash(next), rotated_at: tx.now, last_used_at: tx.now })
    .where("id", "=", sessionId)
    .where("generation", "=", generation)
    .where("refresh_hash", "=", tokenHash(token))
    .where("revoked_at", "is", null)
    .where("idle_expires_at", ">", tx.now)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]))
    .returningAll()
    .executeTakeFirst();
  if (swapped !== undefined) {
    await prolong(tx, swapped);
    return { kind: "rotated", session: swapped, token: next };
  }
  const session = await tx.db.selectFrom("sessions").selectAll().where("id", "=", sessionId).executeTakeFirst();
  if (session === undefined || !isLive(session, tx.now)) return { kind: "invalid" };
  const isPrevious = session.generation === generation + 1;
  const age = tx.now.getTime() - (session.rotated_at?.getTime() ?? 0);
  if (isPrevious && age <= repeatWindowMs) return { kind: "repeated", session, token: next };
  return { kind: "reused", session };
}

async function prolong(tx: Tx, session: SessionRow): Promise<void> {
  const life = session.account_id === null ? "staff" : session.kind === "agent" ? "agent" : "member";
  const until = new Date(tx.now.getTime() + lifetimes[life].idleMs);
  await tx.db.updateTable("sessions").set({ idle_expires_at: until }).where("id", "=", session.id).execute();
}

function isLive(row: SessionRow, now: Date): boolean {
  return row.revoked_at === null && row.idle_expires_at > now && (row.expires_at === null || row.expires_at > now);
}

export async function withholdGrants(tx: Tx, accountId: string, personId: string, reason: EndReason) {
  const live = tx.db
    .updateTable("sessions")
    .where("account_id", "=", accountId)
    .where("person_id", "=", personId)
    .where("client_id", "is not", null)
    .where("revoked_at", "is", null)
    .where("review_since", "is", null);
  const kept = sql<boolean>`coalesce(scopes && ${[...scopesInReview]}::text[], true)`;
  await live.set({ revoked_at: tx.now, revoked_reason: reason }).where(sql<boolean>`not ${kept}`).execute();
  return live.set({ review_since: tx.now }).where(kept).returning("id").execute();
}

export type GrantRow = Pick<
  Selectable<SessionsRow>,
  "id" | "person_id" | "kind" | "scopes" | "created_at" | "last_used_at" | "review_since"
> & {
  readonly client_id: string | null;
  /** Null for the service's own client, whose row no account sees. */
  readonly client_name: Selectable<OauthClientsRow>["name"] | null;
};

/** A page of an account's grants that have not ended. */
export async function listGrants(tx: ReadTx, accountId: string, page: PageStart): Promise<GrantRow[]> {
  return pageRows(grants(tx, accountId), page, "sessions");
}

export async function findGrant(tx: ReadTx, accountId: string, id: string): Promise<GrantRow | undefined> {
  return grants(tx, accountId).where("sessions.id", "=", id).executeTakeFirst();
}

/** Makes this member responsible for the grant. */
export async function reviewGrant(tx: Tx, accountId: string, id: string, memberId: string): Promise<void> {
  await tx.db
    .updateTable("sessions")
    .set({ person_id: memberId, review_since: null })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("client_id", "is not", null)
    .execute();
}

function grants(tx: ReadTx, accountId: string) {
  return (
    tx.db
      .selectFrom("sessions")
      .leftJoin("oauth_clients", "oauth_clients.id", "sessions.client_id")
      .select(["sessions.id", "sessions.person_id", "sessions.kind", "sessions.scopes", "sessions.review_since"])
      .select(["sessions.created_at", "sessions.last_used_at"])
      .select(["sessions.client_id", "oauth_clients.name as client_name"])
      .where("sessions.account_id", "=", accountId)
      .where("sessions.client_id", "is not", null)
      // A session of client credentials has no person: it is no grant.
      .where("sessions.person_id", "is not", null)
      .where("sessions.revoked_at", "is", null)
      .where("sessions.idle_expires_at", ">", tx.now)
      .where("oauth_clients.revoked_at", "is", null)
  );
}

/** Whether this device has been used by this person; notes that it is used again. */
export async function touchDevice(tx: Tx, personId: string, tokenHash: Buffer): Promise<boolean> {
  const result = await tx.db
    .updateTable("devices")
    .set({ last_used_at: tx.now })
    .where("token_hash", "=", tokenHash)
    .where("person_id", "=", personId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function hasDevices(tx: ReadTx, personId: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("devices")
    .select("token_hash")
    .where("person_id", "=", personId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** More devices than a person has; beyond that the least recently used ones are deleted. */
const maxDevices = 20;

export async function addDevice(
  tx: Tx,
  person: { readonly id: string; readonly accountId: string | null },
  tokenHash: Buffer,
): Promise<void> {
  await sql`delete from devices where token_hash in (
    select token_hash from devices where person_id = ${person.id} order by last_used_at desc offset ${maxDevices - 1})`.execute(
    tx.db,
  );
  await tx.db
    .insertInto("devices")
    .values({
      token_hash: tokenHash,
      person_id: person.id,
      account_id: person.accountId,
      created_at: tx.now,
      last_used_at: tx.now,
    })
    .execute();
}

export async function forgetDevices(tx: Tx, personId: string): Promise<void> {
  await tx.db.deleteFrom("devices").where("person_id", "=", personId).execute();
}

/** What a sign-in needs to know of the account. One small statement, because it runs for unknown addresses too. */
export async function findSignInAccount(tx: ReadTx, accountId: string) {
  return tx.db
    .selectFrom("accounts")
    .select(["state", "state_changed_at", "erase_after", "sms_sign_in"])
    .where("id", "=", accountId)
    .executeTakeFirst();
}

export async function isAuditRecordWritten(tx: ReadTx, id: string): Promise<boolean> {
  const row = await tx.db.selectFrom("audit_records").select("id").where("id", "=", id).executeTakeFirst();
  return row !== undefined;
}
