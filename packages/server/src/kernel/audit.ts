/**
 * The audit trail: append-only records, one *chain* per account and one for the platform. Each record's hash covers the
 * hash before it, so that a record cannot be changed, dropped or slipped in without every later hash failing.
 *
 *   hash = SHA-256(prev_hash ‖ canonical JSON of the record without its hashes), prev_hash of the first = 32 zero bytes
 *
 * Records are written by the transaction of the act itself (see `tx.ts`) and hold ids, never personal data: erasing a
 * person must not break a chain.
 */

import canonicalize from "canonicalize";
import type { Statement } from "./database/batch.ts";
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
  /** Acts of staff and acts with a fresh second factor: a signed checkpoint follows their records at once. */
  readonly needsCheckpoint?: boolean;
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

/** The hash before the first record. */
const genesis = Buffer.alloc(32);

export function chainOf(access: RowAccess): { chain: string; accountId: string | null } {
  return access.kind === "account"
    ? { chain: access.accountId, accountId: access.accountId }
    : { chain: "platform", accountId: null };
}

export interface PendingAudit extends AuditEntry {
  readonly id: string;
}

/**
 * Appends a record to the chain of `access`: takes the next number and hashes the record with the hash before it, in one
 * statement. It locks the head of the chain until the transaction ends, so send it last.
 */
export function appendRecord(access: RowAccess, now: Date, who: AuditContext, entry: PendingAudit): Statement {
  const { chain, accountId } = chainOf(access);
  const record = recordOf(entry, chain, now, who);
  const { actor, targets, context, metadata } = record;
  const json = [actor, targets, context, metadata].map((part) => JSON.stringify(part));
  const { before, after } = hashedParts(record);
  const values = [chain, accountId, record.id, now, record.action, ...json, record.outcome, before, after, genesis];
  return { text: appendText, values };
}

const appendText = `
  with head as (
    insert into audit_heads (chain, account_id, seq, prev_hash, hash)
    values ($1, $2, 1, $13::bytea, sha256($13::bytea || convert_to($11::text || 1 || $12::text, 'UTF8')))
    on conflict (chain) do update set seq = audit_heads.seq + 1, prev_hash = audit_heads.hash,
      hash = sha256(audit_heads.hash || convert_to($11::text || (audit_heads.seq + 1) || $12::text, 'UTF8'))
    returning seq, prev_hash, hash)
  insert into audit_records
    (chain, account_id, seq, id, occurred_at, action, actor, targets, context, metadata, outcome, prev_hash, hash)
    select $1, $2, seq, $3, $4, $5, $6, $7, $8, $9, $10, prev_hash, hash from head`;

function recordOf(entry: PendingAudit, chain: string, now: Date, who: AuditContext): Omit<AuditRecord, "seq"> {
  return {
    chain,
    id: entry.id,
    occurred_at: now.toISOString(),
    action: entry.action,
    actor: who.actor,
    targets: entry.targets,
    context: who.context,
    outcome: entry.outcome ?? "success",
    metadata: entry.metadata ?? {},
  };
}

/** The canonical JSON of a record before and after its number, which only the database knows. */
export function hashedParts({ targets, ...rest }: Omit<AuditRecord, "seq">): { before: string; after: string } {
  // RFC 8785 sorts the names: all others come before `seq`, and only `targets` after it.
  const before = canonicalize(rest);
  const after = canonicalize({ targets });
  if (before === undefined || after === undefined) throw new Error("an audit record is always JSON");
  return { before: `${before.slice(0, -1)},"seq":`, after: `,${after.slice(1)}` };
}
