/**
 * Idempotency keys of uploads. A body can take hours, so no transaction is open while it comes: the key is *claimed* by a
 * commit before the first byte is read, and the answer replaces the claim at the end. Until then every other request with the
 * key is refused.
 *
 * A claim is a lease that its process renews. When the process dies, the key is free again after {@link claimLeaseMs}. A
 * process that lost its claim, because it could not reach the database for so long, cannot record an answer, and the
 * transaction in which it tries is undone.
 *
 * What a request is can be known only when its body was read to the end. So an answer is recorded only then; a refusal before
 * that frees the key. A repeated request is read, hashed and dropped before it gets the recorded answer.
 */

import { createHash, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { CompiledQuery } from "kysely";
import type { Clock, Random } from "./clock.ts";
import type { Reply } from "./http/endpoint.ts";
import type { EndState } from "./http/request-signal.ts";
import type { Upload } from "./http/upload.ts";
import {
  find,
  idempotencyKeptMs,
  isRecorded,
  type KeyedRequest,
  keyId,
  keyInProgress,
  lock,
  openReply,
  sealReply,
} from "./idempotency.ts";
import { errorFields, type Log } from "./log.ts";
import { type RowAccess, rowAccessOf } from "./principal.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";
import type { Transactions, Tx, TxContext } from "./tx.ts";

/** A claim that was not renewed for so long belongs to a dead process. */
export const claimLeaseMs = 60_000;

/** Two renewals may fail before the lease ends. */
const renewEveryMs = claimLeaseMs / 3;

/** A request whose body is not read yet, with its key. */
export interface KeyedUpload extends KeyedRequest {
  readonly upload: Upload;
}

/** The key of an upload, for its work. */
export interface UploadKey {
  /** Records the answer in this transaction, so that the work and the answer commit together. */
  record(tx: Tx, reply: Reply): Promise<void>;
}

export interface UploadIdempotency {
  /** Runs `work` once per key, or gives the answer that was recorded. `work` reads the upload that it is given. */
  onceUpload(
    context: TxContext,
    request: KeyedUpload,
    work: (upload: Upload, key: UploadKey) => Promise<Reply>,
    asReply: (problem: Problem) => Reply,
  ): Promise<{ reply: Reply; replayed: boolean }>;
}

export interface UploadKeySources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createUploadIdempotency(sources: UploadKeySources): UploadIdempotency {
  const { secrets, random } = sources;
  return {
    async onceUpload(context, request, work, asReply) {
      const content = new HashedUpload(request.upload);
      const fingerprint = () => hash("sha256", canonicalize([request.content, content.digest()]) ?? "", "buffer");
      const id = keyId(secrets, request);
      const claim = new Claim({ ...sources, context, access: rowAccessOf(request.principal), id }, random.uuid());
      const recorded = await claim.take(request.operation);
      if (recorded !== null) {
        for await (const _ of content.chunks());
        if (!recorded.fingerprint.equals(fingerprint())) throw new Problem("idempotency_key_reused");
        return { reply: openReply(secrets, id, recorded.sealedReply), replayed: true };
      }
      const record = (tx: Tx, reply: Reply) => claim.answer(tx, fingerprint(), sealReply(secrets, id, reply));
      const reply = await claim.during(async () => {
        const made = await attempt(() => work(content, { record }), asReply);
        if (!content.isRead || !isRecorded(made.status)) await claim.release();
        else await claim.run((tx) => claim.answer(tx, fingerprint(), sealReply(secrets, id, made), "if mine"));
        return made;
      });
      return { reply, replayed: false };
    },
  };
}

/** A refusal is an answer too. Anything else frees the key. */
async function attempt(work: () => Promise<Reply>, asReply: (problem: Problem) => Reply): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const reply = asReply(error);
    if (!isRecorded(reply.status)) throw error;
    return reply;
  }
}

/** An upload that is hashed while it is read. */
class HashedUpload implements Upload {
  readonly #upload: Upload;
  readonly #hash = createHash("sha256");
  #digest: string | null = null;

  constructor(upload: Upload) {
    this.#upload = upload;
  }

  get mediaType(): string | null {
    return this.#upload.mediaType;
  }

  get encoding(): string | null {
    return this.#upload.encoding;
  }

  get announcedBytes(): number | null {
    return this.#upload.announcedBytes;
  }

  get isRead(): boolean {
    return this.#digest !== null;
  }

  async *chunks(): AsyncGenerator<Buffer, void> {
    for await (const chunk of this.#upload.chunks()) {
      this.#hash.update(chunk);
      yield chunk;
    }
    this.#digest = this.#hash.digest("hex");
  }

  /** Of the content and of what its head says about it. */
  digest(): readonly (string | null)[] {
    if (this.#digest === null) throw new Error("an upload has no hash before it was read to its end");
    return [this.mediaType, this.encoding, this.#digest];
  }
}

interface ClaimTerms extends Pick<UploadKeySources, "transactions" | "clock" | "log"> {
  readonly context: TxContext;
  readonly access: RowAccess;
  readonly id: Buffer;
}

/** The claim of one request on its key. States: *free* → *taken* → *answered* or *released*. */
class Claim {
  readonly #terms: ClaimTerms;
  readonly #claim: string;

  constructor(terms: ClaimTerms, claim: string) {
    this.#terms = terms;
    this.#claim = claim;
  }

  /** Takes the key, or returns what was recorded under it. Throws `idempotency_in_progress`. */
  take(operation: string): Promise<{ readonly fingerprint: Buffer; readonly sealedReply: Buffer } | null> {
    const { transactions, context, access, id } = this.#terms;
    return transactions.run(context, access, async (tx) => {
      const [, known] = await Promise.all([lock(tx, id), find(tx, id)]);
      if (known !== undefined) {
        if (known.fingerprint === null || known.sealed_reply === null) throw keyInProgress();
        return { fingerprint: known.fingerprint, sealedReply: known.sealed_reply };
      }
      const accountId = access.kind === "account" ? access.accountId : null;
      await execute(tx, takeText, [id, accountId, operation, tx.now, leaseEnd(tx), this.#claim]);
      return null;
    });
  }

  /** Renews the claim while the work runs, and gives it back when the work throws. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const renew = () =>
      this.run((tx) => execute(tx, renewText, [this.#terms.id, this.#claim, leaseEnd(tx)])).catch((error: unknown) =>
        this.#terms.log.warn("upload_claim_not_renewed", errorFields(error)),
      );
    const timer = setInterval(renew, renewEveryMs).unref();
    // The lease ends by this clock: where tests move it, the process lives on.
    const stopListening = this.#terms.clock.onMove?.(() => void renew());
    try {
      return await work();
    } catch (error) {
      // The first error is the one to show. Without this the key is free after the lease.
      await this.release().catch((second: unknown) => this.#terms.log.warn("upload_claim_kept", errorFields(second)));
      throw error;
    } finally {
      clearInterval(timer);
      stopListening?.();
    }
  }

  /** Replaces the claim by the answer. */
  async answer(tx: Tx, fingerprint: Buffer, sealed: Buffer, when?: "if mine"): Promise<void> {
    const expiresAt = new Date(tx.now.getTime() + idempotencyKeptMs);
    const count = await execute(tx, answerText, [this.#terms.id, this.#claim, fingerprint, sealed, expiresAt]);
    if (count === 0 && when === undefined) throw keyInProgress();
  }

  async release(): Promise<void> {
    await this.run((tx) => execute(tx, releaseText, [this.#terms.id, this.#claim]));
  }

  /** In a transaction of its own, also when the client has left. */
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { transactions, context, access } = this.#terms;
    return transactions.run({ ...context, signal: endless }, access, work);
  }
}

/** What is done for the key does not end with the request. */
const endless: EndState = { aborted: false, reason: undefined, throwIfAborted: () => undefined };

function leaseEnd(tx: Tx): Date {
  return new Date(tx.now.getTime() + claimLeaseMs);
}

async function execute(tx: Tx, text: string, values: readonly unknown[]): Promise<number> {
  const { numAffectedRows } = await tx.db.executeQuery(CompiledQuery.raw(text, [...values]));
  return Number(numAffectedRows ?? 0);
}

const takeText = `
  insert into idempotency_keys (id, account_id, operation, created_at, expires_at, claim)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (id) do update set account_id = excluded.account_id, operation = excluded.operation, fingerprint = null,
    sealed_reply = null, created_at = excluded.created_at, expires_at = excluded.expires_at, claim = excluded.claim`;
const renewText = "update idempotency_keys set expires_at = $3 where id = $1 and claim = $2";
const answerText = `
  update idempotency_keys set fingerprint = $3, sealed_reply = $4, expires_at = $5, claim = null
  where id = $1 and claim = $2`;
const releaseText = "delete from idempotency_keys where id = $1 and claim = $2";
