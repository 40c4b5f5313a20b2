/**
 * The audit trail: append-only records, one *chain* per account and one for the platform. Each record's hash covers the
 * hash before it, so that a record cannot be changed, dropped or slipped in without every later hash failing.
 *
 *   hash = SHA-256(prev_hash ‖ canonical JSON of the record without its hashes), prev_hash of the first = 32 zero bytes
 *
 * Records are written by the transaction of the act itself (see `tx.ts`) and hold ids, never personal data: erasing a
 * person must not break a chain.
 */

import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { type Kysely, sql } from "kysely";
import type { Database } from "./database/rows.generated.ts";
import { truncatedAddress } from "./log.ts";
import type { Actor, Principal, RowAccess } from "./principal.ts";

export interface AuditEntry {
  /** For a record that a job may write twice; otherwise a new id. */
  readonly id?: string;
  /** `noun.past_tense`, e.g. `application.submitted`. */
  readonly action: string;
  readonly targets: readonly { readonly type: string; readonly id: string }[];
  readonly outcome?: "success" | "failure";
  /** Facts without personal data. */
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Who did it and in which request; the same for all entries of one transaction. */
export interface AuditContext {
  readonly actor: Actor;
  readonly context: AuditOrigin;
}

/** The request behind an audit record. Of the client's address it has the network only. */
export interface AuditOrigin {
  readonly request_id?: string;
  readonly operation?: string;
  /** The session that was used, and the member and the OAuth client that it belongs to. */
  readonly session_id?: string;
  readonly member_id?: string;
  readonly client_id?: string;
  readonly address?: string;
}

export function auditOriginOf(
  principal: Principal,
  request: { readonly requestId: string; readonly operation: string; readonly address: string },
): AuditOrigin {
  const network = truncatedAddress(request.address);
  return {
    request_id: request.requestId,
    operation: request.operation,
    ...("sessionId" in principal && { session_id: principal.sessionId }),
    ...("memberId" in principal && principal.memberId !== null && { member_id: principal.memberId }),
    ...("clientId" in principal && { client_id: principal.clientId }),
    ...(network !== undefined && { address: network }),
  };
}

/** A record as it is hashed. Its JSON form, canonicalised (RFC 8785), is what an outside verifier rebuilds. */
export interface AuditRecord {
  readonly chain: string;
  readonly seq: number;
  readonly id: string;
  readonly occurred_at: string;
  readonly action: string;
  readonly actor: Actor;
  readonly targets: AuditEntry["targets"];
  readonly context: AuditContext["context"];
  readonly outcome: "success" | "failure";
  readonly metadata: NonNullable<AuditEntry["metadata"]>;
}

const genesis = Buffer.alloc(32);

export function chainOf(access: RowAccess): { chain: string; accountId: string | null } {
  return access.kind === "account"
    ? { chain: access.accountId, accountId: access.accountId }
    : { chain: "platform", accountId: null };
}

export function auditHash(prevHash: Uint8Array, record: AuditRecord): Buffer {
  const text = canonicalize(record);
  if (text === undefined) throw new Error("an audit record is always JSON");
  return createHash("sha256").update(prevHash).update(text).digest();
}

export interface PendingAudit extends AuditEntry {
  readonly id: string;
}

/** Appends to the chain of `access`. Holds the chain's head until the transaction ends, so call it last. */
export async function appendAudit(
  db: Kysely<Database>,
  access: RowAccess,
  now: Date,
  who: AuditContext,
  entries: readonly PendingAudit[],
): Promise<void> {
  const { chain, accountId } = chainOf(access);
  // The update changes nothing: it makes one statement of "create or lock, then read".
  const head = await sql<{ seq: number; hash: Buffer }>`
    insert into audit_heads (chain, account_id, seq, hash) values (${chain}, ${accountId}, 0, ${genesis})
    on conflict (chain) do update set seq = audit_heads.seq returning seq, hash`.execute(db);
  let { seq, hash } = head.rows[0] ?? { seq: 0, hash: genesis };
  const rows = entries.map((entry) => {
    seq += 1;
    const record: AuditRecord = {
      chain,
      seq,
      id: entry.id,
      occurred_at: now.toISOString(),
      action: entry.action,
      actor: who.actor,
      targets: entry.targets,
      context: who.context,
      outcome: entry.outcome ?? "success",
      metadata: entry.metadata ?? {},
    };
    const prevHash = hash;
    hash = auditHash(prevHash, record);
    return {
      ...record,
      account_id: accountId,
      occurred_at: now,
      actor: JSON.stringify(record.actor),
      targets: JSON.stringify(record.targets),
      context: JSON.stringify(record.context),
      metadata: JSON.stringify(record.metadata),
      prev_hash: prevHash,
      hash,
    };
  });
  await db.insertInto("audit_records").values(rows).execute();
  await db.updateTable("audit_heads").set({ seq, hash }).where("chain", "=", chain).execute();
}
