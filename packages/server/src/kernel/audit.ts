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

/** Reads the head of the chain of `access`. Holds it until the transaction ends, so send it last. */
export function lockChain(access: RowAccess): Statement {
  const { chain, accountId } = chainOf(access);
  // The update changes nothing: it makes one statement of "create or lock, then read".
  const text = `
    insert into audit_heads (chain, account_id, seq, hash) values ($1, $2, 0, $3)
    on conflict (chain) do update set seq = audit_heads.seq returning seq, hash`;
  return { text, values: [chain, accountId, genesis] };
}

/** Appends to the chain of `access`; `head` is the row of {@link lockChain}. */
export function auditStatements(
  access: RowAccess,
  now: Date,
  who: AuditContext,
  entries: readonly PendingAudit[],
  head: Readonly<Record<string, unknown>> | undefined,
): readonly Statement[] {
  const { chain, accountId } = chainOf(access);
  let { seq, hash } = head ?? {};
  const statements = entries.map((entry): Statement => {
    if (typeof seq !== "number" || !(hash instanceof Uint8Array))
      throw new Error("the head of an audit chain is not visible");
    seq += 1;
    const record = recordOf(entry, { chain, seq: Number(seq), now, who });
    const prevHash = hash;
    hash = auditHash(prevHash, record);
    return insertRecord(record, { accountId, now, prevHash, hash });
  });
  return [
    ...statements,
    { text: "update audit_heads set seq = $1, hash = $2 where chain = $3", values: [seq, hash, chain] },
  ];
}

function recordOf(
  entry: PendingAudit,
  {
    chain,
    seq,
    now,
    who,
  }: { readonly chain: string; readonly seq: number; readonly now: Date; readonly who: AuditContext },
): AuditRecord {
  return {
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
}

function insertRecord(
  record: AuditRecord,
  row: { readonly accountId: string | null; readonly now: Date; readonly prevHash: unknown; readonly hash: unknown },
): Statement {
  const text = `
    insert into audit_records
      (chain, account_id, seq, id, occurred_at, action, actor, targets, context, outcome, metadata, prev_hash, hash)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
  const { chain, seq, id, action, outcome } = record;
  const json = [record.actor, record.targets, record.context].map((part) => JSON.stringify(part));
  const facts = JSON.stringify(record.metadata);
  return {
    text,
    values: [chain, row.accountId, seq, id, row.now, action, ...json, outcome, facts, row.prevHash, row.hash],
  };
}
