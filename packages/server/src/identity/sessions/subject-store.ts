/**
 * The SQL function `emanet.token_subject`: everything that the rights of a session depend on, in one row. The application
 * role may call it for any session, without row access.
 */

import { sql } from "kysely";
import type { Pool } from "pg";
import type { AccountFacts, TokenKind } from "../../kernel/principal.ts";
import type { ReadTx } from "../../kernel/tx.ts";

/** A row of `emanet.token_subject`. */
export interface SubjectRow {
  readonly account_id: string | null;
  readonly person_id: string | null;
  readonly client_id: string | null;
  readonly kind: TokenKind;
  readonly scopes: readonly string[] | null;
  readonly auth_time: Date;
  readonly amr: readonly string[];
  readonly session_ended: boolean;
  readonly idle_expires_at: Date;
  readonly expires_at: Date | null;
  readonly person_role: string | null;
  readonly person_state: string | null;
  readonly client_scopes: readonly string[] | null;
  readonly client_vaults: readonly string[] | null;
  readonly client_revoked: boolean | null;
  readonly client_role: string | null;
  /** The grant or its client waits for an owner's review. */
  readonly in_review: boolean;
  readonly account_state: AccountFacts["state"] | null;
  readonly account_closed_at: Date | null;
  readonly package: string | null;
  readonly early_access: boolean | null;
  readonly entitlements: readonly string[];
  readonly api_package: string | null;
  readonly requests_per_minute: number | null;
  readonly burst: number | null;
  /** By policy: requests, seconds, burst. */
  readonly custom_limits: Readonly<Record<string, readonly [number, number, number]>> | null;
  readonly is_banned: boolean;
  readonly ban_expires_at: Date | null;
}

export async function readTokenSubject(app: Pool, sessionId: string): Promise<SubjectRow | undefined> {
  const text = "select * from emanet.token_subject($1)";
  const { rows } = await app.query<SubjectRow>({ name: "token_subject", text, values: [sessionId] });
  return rows[0];
}

/** Everything that a token of the session depends on, in one statement; see `authenticator.ts`. */
export async function findTokenSubject(tx: ReadTx, sessionId: string): Promise<SubjectRow | undefined> {
  const { rows } = await sql<SubjectRow>`select * from emanet.token_subject(${sessionId})`.execute(tx.db);
  return rows[0];
}
