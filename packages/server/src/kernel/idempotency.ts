/**
 * Idempotency keys. A key belongs to (account, client, operation); the answer to its first request is recorded in the
 * transaction of the work itself, so there is no moment in which the work is done and the key unknown.
 *
 * A key in words: *free* → (lock taken) *in progress* → *answered* for 24 h → free again. While it is in progress every
 * other request with it is refused at once, so that it does not hold a connection while it waits. An answer that says nothing
 * about the work (401, 403, 429, 5xx) is not recorded: the key stays free. Uploads: see `upload-idempotency.ts`.
 */

import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { CompiledQuery, sql } from "kysely";
import type { IdempotencyKeysRow } from "./database/rows.generated.ts";
import type { Reply } from "./http/endpoint.ts";
import { noPayload, recurring, retryAfter, task } from "./jobs/task.ts";
import { callerOf, type Principal, type RowAccess, rowAccessOf } from "./principal.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";
import type { RunTx, Transactions, Tx, TxContext } from "./tx.ts";

/** How long an answer is kept: longer than any client's retries, a day as the contract says. */
export const idempotencyKeptMs = 24 * 60 * 60 * 1000;

/** Printable ASCII; 255 as elsewhere, so that keys of other systems can be passed on. */
export const idempotencyKeyPattern = "^[\\x21-\\x7e]{1,255}$";

/** A request that carries a key. */
export interface KeyedRequest {
  readonly key: string;
  readonly operation: string;
  readonly principal: Principal;
  /** The address that anonymous keys are kept apart by. */
  readonly addressKey: string;
  /** Everything that makes the request what it is: parameters, query and body. */
  readonly content: unknown;
  /** A repetition does again what failed: the work gets the recorded answer, and its own is recorded in its place. */
  readonly isResumed?: boolean;
}

export interface Idempotency {
  /** Runs `work` once per key, or gives the answer that was recorded. `asReply` shows what a thrown problem looks like. */
  once(
    context: TxContext,
    request: KeyedRequest,
    work: KeyedWork,
    asReply: (problem: Problem) => Reply,
  ): Promise<{ reply: Reply; replayed: boolean }>;
}

/** The work of a request. `earlier`: the recorded answer, where the request is resumed. */
export type KeyedWork = (runTx: RunTx, earlier: Reply | null) => Promise<Reply>;

export function createIdempotency(transactions: Transactions, secrets: Secrets): Idempotency {
  return {
    async once(context, request, work, asReply) {
      const access = rowAccessOf(request.principal);
      const id = keyId(secrets, request);
      const fingerprint = hash("sha256", canonicalize(request.content) ?? "", "buffer");
      return transactions.run(context, access, async (tx) => {
        // Issued together: the second sees what was committed before the first got the lock.
        const [, recorded] = await Promise.all([lock(tx, id), find(tx, id)]);
        if (recorded !== undefined) {
          // An upload under the same key: some operations take both.
          if (recorded.fingerprint === null || recorded.sealed_reply === null) throw keyInProgress();
          if (!recorded.fingerprint.equals(fingerprint)) throw new Problem("idempotency_key_reused");
          const earlier = openReply(secrets, id, recorded.sealed_reply);
          // Only a success has parts that may have failed.
          if (request.isResumed !== true || earlier.status >= 300) return { reply: earlier, replayed: true };
          const resumed = await attempt(tx, access, (runTx) => work(runTx, earlier), asReply);
          tx.atCommit({ text: replaceText, values: [id, sealReply(secrets, id, resumed)] });
          return { reply: resumed, replayed: true };
        }
        const reply = await attempt(tx, access, (runTx) => work(runTx, null), asReply);
        const sealed = sealReply(secrets, id, reply);
        record(tx, { id, access, operation: request.operation, fingerprint, sealed });
        return { reply, replayed: false };
      });
    },
  };
}

/** Removes what is older than a day, in batches, so that no statement holds many rows for long. */
export const purgeExpiredKeys = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "idempotency.purge",
  {
    parse: noPayload,
    retry: retryAfter(),
    run: async (_payload, { ports, signal, log }) => {
      const context: TxContext = { actor: { kind: "system" }, context: {}, signal };
      let gone = 0;
      let batch = 0;
      do {
        batch = await ports.transactions.run(context, { kind: "system" }, (tx) => purgeBatch(tx));
        gone += batch;
      } while (batch === purgeBatchSize);
      if (gone > 0) log.info("idempotency_keys_purged", { count: gone });
    },
  },
);

const hourMs = 60 * 60 * 1000;

export const idempotencyRecurrences = [recurring(purgeExpiredKeys, { everyMs: hourMs })];

/** A few milliseconds of work per statement. */
const purgeBatchSize = 1_000;

async function purgeBatch(tx: Tx): Promise<number> {
  const result = await sql`
    delete from idempotency_keys where id in (
      select id from idempotency_keys where expires_at <= ${tx.now} limit ${purgeBatchSize} for update skip locked
    )`.execute(tx.db);
  return Number(result.numAffectedRows ?? 0);
}

/** Never the bearer token or the session of a person: after a new sign-in the same key must be found. */
export function keyId(secrets: Secrets, { principal, addressKey, operation, key }: KeyedRequest): Buffer {
  const account = "accountId" in principal ? principal.accountId : null;
  const caller = principal.kind === "anonymous" ? [addressKey] : callerOf(principal);
  return secrets.digest("idempotency-caller", JSON.stringify([account, caller, operation, key]));
}

/** Held to the end of the transaction, and free only after its commit can be seen. */
export async function lock(tx: Tx, id: Buffer): Promise<void> {
  const query = CompiledQuery.raw(lockText, [id.readBigInt64BE(0).toString()]);
  const { rows } = await tx.db.executeQuery<{ locked: boolean }>(query);
  if (rows[0]?.locked !== true) throw keyInProgress();
}

export function keyInProgress(): Problem {
  return new Problem("idempotency_in_progress", { headers: { "Retry-After": "1" } });
}

type RecordedRow = Pick<IdempotencyKeysRow, "fingerprint" | "sealed_reply">;

/** Null columns: the key is claimed by an upload that has no answer yet. */
export async function find(tx: Tx, id: Buffer): Promise<RecordedRow | undefined> {
  const { rows } = await tx.db.executeQuery<RecordedRow>(CompiledQuery.raw(findText, [id, tx.now]));
  return rows[0];
}

/** It expires when the first one would have. */
const replaceText = "update idempotency_keys set sealed_reply = $2 where id = $1";
// Texts, not builders: every request with a key runs all three.
const lockText = "select pg_try_advisory_xact_lock($1::bigint) as locked";
const findText = "select fingerprint, sealed_reply from idempotency_keys where id = $1 and expires_at > $2";
const recordText = `
  insert into idempotency_keys (id, account_id, operation, fingerprint, sealed_reply, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (id) do update set account_id = excluded.account_id, operation = excluded.operation,
    fingerprint = excluded.fingerprint, sealed_reply = excluded.sealed_reply, created_at = excluded.created_at,
    expires_at = excluded.expires_at, claim = null`;

/** A refusal by the handler undoes its own work and is an answer like any other. */
async function attempt(
  tx: Tx,
  access: RowAccess,
  work: (runTx: RunTx) => Promise<Reply>,
  asReply: (problem: Problem) => Reply,
): Promise<Reply> {
  try {
    return await tx.within(access, () => work(tx.within));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const reply = asReply(error);
    if (!isRecorded(reply.status)) throw error;
    return reply;
  }
}

/** Whether an answer with this status says something about the work. */
export function isRecorded(status: number): boolean {
  return status < 500 && ![401, 403, 429].includes(status);
}

interface NewKey {
  readonly id: Buffer;
  readonly access: RowAccess;
  readonly operation: string;
  readonly fingerprint: Buffer;
  readonly sealed: Buffer;
}

function record(tx: Tx, { id, access, operation, fingerprint, sealed }: NewKey): void {
  const accountId = access.kind === "account" ? access.accountId : null;
  const expiresAt = new Date(tx.now.getTime() + idempotencyKeptMs);
  tx.atCommit({ text: recordText, values: [id, accountId, operation, fingerprint, sealed, tx.now, expiresAt] });
}

/** Answers may hold secrets that are shown once; at rest they are sealed, and bound to their key. */
export function sealReply(secrets: Secrets, id: Buffer, reply: Reply): Buffer {
  return secrets.seal("idempotency-reply", Buffer.from(JSON.stringify(reply)), id);
}

export function openReply(secrets: Secrets, id: Buffer, sealed: Buffer): Reply {
  return JSON.parse(secrets.unseal("idempotency-reply", sealed, id).toString()) as Reply;
}
