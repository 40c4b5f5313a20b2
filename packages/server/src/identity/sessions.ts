/**
 * Sessions and their refresh tokens. A *session* is a family of refresh tokens; each use makes the next *generation*.
 *
 * A refresh token is `session ‖ generation ‖ mac`, the mac being a keyed hash of the two: 256 bits that only we can
 * make, and that we can make again. So two tabs that refresh at once get the very same successor without any secret
 * being stored; of the current one a hash is kept.
 *
 * A generation in words: *current* → (compare-and-swap) *previous*, for 30 seconds still answered with its successor →
 * *old*: whoever shows it has copied it, or was copied, and the whole family ends.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { type Selectable, sql } from "kysely";
import { oauthScopes } from "../declarations.ts";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { SessionsRow } from "../kernel/database/rows.generated.ts";
import type { NewCookie } from "../kernel/http/cookies.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { OauthScope, TokenKind } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";

export type SessionRow = Selectable<SessionsRow>;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** The contract's lifetimes: unused for this long, and altogether. */
export const lifetimes = {
  member: { idleMs: 7 * dayMs, absoluteMs: 30 * dayMs },
  staff: { idleMs: 60 * minuteMs, absoluteMs: 12 * 60 * minuteMs },
  /** An office machine may be off for a season. */
  agent: { idleMs: 90 * dayMs, absoluteMs: null },
  /** Client credentials have no refresh token: the session ends with its one access token. */
  machine: { idleMs: 15 * minuteMs, absoluteMs: 15 * minuteMs },
} as const;

/** Two tabs, or an answer that was lost: the contract's 30 seconds. */
export const repeatWindowMs = 30_000;

export interface NewSession {
  readonly id: string;
  readonly accountId: string | null;
  /** Who acts; null for a machine. */
  readonly personId: string | null;
  readonly clientId: string | null;
  readonly kind: TokenKind;
  /** What it may do at most; null for whatever its person may. */
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

/** A session that has not ended; scope `system`, because a token's account is not known before. */
export async function findLiveSession(tx: Tx, id: string): Promise<SessionRow | undefined> {
  const row = await tx.db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  return row !== undefined && isLive(row, tx.now) ? row : undefined;
}

/** A page of one person's sessions that have not ended. */
export async function listLiveSessions(tx: Tx, personId: string, page: PageStart): Promise<SessionRow[]> {
  return pageRows(liveSessionsOf(tx, personId), page);
}

/** One of a person's own sessions, while it lives. */
export async function findOwnSession(tx: Tx, personId: string, id: string): Promise<SessionRow | undefined> {
  return liveSessionsOf(tx, personId).where("id", "=", id).executeTakeFirst();
}

export async function lockOwnSession(tx: Tx, personId: string, id: string): Promise<SessionRow | undefined> {
  return liveSessionsOf(tx, personId).where("id", "=", id).forUpdate().executeTakeFirst();
}

function liveSessionsOf(tx: Tx, personId: string) {
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

/** Ends all sign-ins of a person, but for one they keep. What they allowed to programs is in `programs.ts`. */
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

/** A second factor was shown again. */
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

/** Trades a refresh token for its successor; see the states above. Scope `system`. */
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

/** The session that a refresh token belongs to, whatever its generation; for logging out. */
export function sessionOfToken(secrets: Secrets, token: string): string | null {
  return readToken(secrets, token)?.sessionId ?? null;
}

/** The first token of a session. */
export function firstRefreshToken(secrets: Secrets, sessionId: string): string {
  return refreshToken(secrets, sessionId, 0);
}

/** The cookie of a refresh token; it lives as long as the session may be unused. */
export function refreshCookie(token: string, session: Pick<SessionRow, "account_id">): NewCookie {
  const { idleMs } = session.account_id === null ? lifetimes.staff : lifetimes.member;
  return { name: "__Host-refresh", value: token, maxAgeSeconds: idleMs / 1000 };
}

export const noRefreshCookie: NewCookie = { name: "__Host-refresh", value: "", maxAgeSeconds: 0 };

/** The access token of a person's session, with what the session may have; `held` bounds it further. */
export async function accessTokenOf(
  ctx: Pick<Ctx, "tokens">,
  session: SessionRow,
  held: ReadonlySet<OauthScope> | null = null,
) {
  const all = Object.keys(oauthScopes) as OauthScope[];
  const scopes = (session.scopes ?? all).filter((scope) => held === null || held.has(scope as OauthScope));
  return ctx.tokens.issue({
    subject: session.person_id ?? session.client_id ?? session.id,
    sessionId: session.id,
    clientId: session.client_id ?? `emanet-${session.kind}`,
    accountId: session.account_id,
    scopes: session.account_id === null ? [] : scopes,
    amr: session.amr,
    authTime: session.auth_time,
  });
}

async function prolong(tx: Tx, session: SessionRow): Promise<void> {
  const life = session.account_id === null ? "staff" : session.kind === "agent" ? "agent" : "member";
  const until = new Date(tx.now.getTime() + lifetimes[life].idleMs);
  await tx.db.updateTable("sessions").set({ idle_expires_at: until }).where("id", "=", session.id).execute();
}

function isLive(row: SessionRow, now: Date): boolean {
  return row.revoked_at === null && row.idle_expires_at > now && (row.expires_at === null || row.expires_at > now);
}

/** A UUID and a 32-bit counter before the mac. */
const idBytes = 16;
const counterBytes = 4;
const macBytes = 32;

function refreshToken(secrets: Secrets, sessionId: string, generation: number): string {
  const head = Buffer.alloc(idBytes + counterBytes);
  head.write(sessionId.replaceAll("-", ""), 0, "hex");
  head.writeUInt32BE(generation, idBytes);
  return Buffer.concat([head, secrets.digest("refresh-token", head)]).toString("base64url");
}

function readToken(secrets: Secrets, token: string): { sessionId: string; generation: number } | null {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== idBytes + counterBytes + macBytes || bytes.toString("base64url") !== token) return null;
  const head = bytes.subarray(0, idBytes + counterBytes);
  if (!timingSafeEqual(bytes.subarray(head.length), secrets.digest("refresh-token", head))) return null;
  const hex = head.toString("hex", 0, idBytes);
  const sessionId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  return { sessionId, generation: head.readUInt32BE(idBytes) };
}

function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
