/**
 * The upload target of a client: every call is a message of the upload protocol. It knows no HTTP; `call` sends a request and
 * returns the answer.
 *
 * A call whose answer is lost is repeated after a pause that grows. Every call may be repeated (`backup/upload-target.ts`, rule
 * 1). A refusal is not repeated: `call` rejects with the error of `errorOfRefusal`.
 *
 * A pack is collected before it is sent, because only a pack that is kept can be sent again, and because the service wants to know
 * its size before it takes it (docs/decisions/0530). A small pack is collected in memory, in pieces that the next packs use again. A larger one goes to the
 * caller's spool, if there is one (docs/decisions/0595).
 */

import { assertPackName } from "../backup/stored-pack.ts";
import type { ClientUnit, SegmentAnswer, SegmentQuery, UploadTarget } from "../backup/upload-target.ts";
import type { OrdinalRange, SnapshotRow, UploadStart } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { FormatError } from "../format/bytes.ts";
import { blockIdLength } from "../format/hash.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { decodeCompletion, encodeDraft } from "./completion-messages.ts";
import type { MessageOperation } from "./message.ts";
import { emptyRequest, maxRequestBytes, readDoneAnswer } from "./message.ts";
import { decodeNodeAnswers, decodeSegmentAnswers, encodeNodeOffer, encodeOffer } from "./offer-messages.ts";
import { AnswerLostError } from "./refusal.ts";
import { decodeOrdinals, decodeStart, encodeBegin, encodeOrdinalRequest } from "./start-messages.ts";
import { encodeUnit } from "./unit-message.ts";

/** A request as it is sent. The chunks of a pack can be read several times. */
export type UploadCall =
  | { readonly operation: MessageOperation; readonly body: Uint8Array }
  | {
      readonly operation: "pack";
      readonly name: string;
      readonly size: number;
      readonly chunks: () => AsyncIterable<Uint8Array>;
    };

export interface RemoteTargetOptions {
  readonly ctx: Pick<EngineContext, "random">;
  /**
   * Sends a request and returns the answer. Rejects with `AnswerLostError` if it may be repeated, and with the error of
   * `errorOfRefusal` if the service refused it. `isRepeated`: it was sent before and its answer was lost.
   */
  readonly call: (request: UploadCall, isRepeated: boolean) => Promise<Uint8Array>;
  /** Waits. The system's timer if absent. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
  /** A place outside memory for a pack; null where there is none now. Without it packs are in memory: 16 MiB each by default. */
  readonly spool?: (() => Promise<SpooledPack | null>) | undefined;
}

/** A pack outside memory. */
export interface SpooledPack {
  /** Adds a chunk. It is valid until this resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** All chunks, from the beginning. Each is valid until the next one is read. */
  chunks(): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
}

/** Times that a call is made. With the pauses below, a service may be away for four minutes. */
const maxAttempts = 10;

/** The first pause; each further one is twice as long, up to `maxPauseMs`. */
const firstPauseMs = 500;

/** A service that is away is asked once a minute. */
const maxPauseMs = 60_000;

/**
 * Bytes of a piece of a pack. What is larger and freed would make the C library take later buffers from its arenas (docs/decisions/0110), and a connection
 * encrypts what it is given in one go.
 */
const pieceBytes = 64 * 1024;

/** A pack that becomes larger goes to the spool: the packs of a small night need no disk, and those of a large one little memory. */
const maxBytesInMemory = 1024 * 1024;

export class RemoteTarget implements UploadTarget {
  readonly #options: RemoteTargetOptions;
  /** Pieces of packs that were sent. */
  readonly #freePieces: Buffer[] = [];

  constructor(options: RemoteTargetOptions) {
    this.#options = options;
  }

  async begin(base: string | null): Promise<UploadStart> {
    return decodeStart(await this.#send({ operation: "begin", body: encodeBegin(base) }));
  }

  async reserveOrdinals(request: number, count: number): Promise<OrdinalRange> {
    const range = decodeOrdinals(
      await this.#send({ operation: "ordinals", body: encodeOrdinalRequest(request, count) }),
    );
    if (range.end - range.first !== count) throw new FormatError(`the answer has not ${count} ordinals`);
    return range;
  }

  async offer(queries: readonly SegmentQuery[]): Promise<readonly SegmentAnswer[]> {
    const answer = await this.#send({ operation: "offer", body: encodeOffer(queries) });
    return decodeSegmentAnswers(
      answer,
      queries.map(({ blockIds }) => blockIds.length / blockIdLength),
    );
  }

  async offerNodes(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]> {
    return decodeNodeAnswers(await this.#send({ operation: "nodes", body: encodeNodeOffer(ids) }), ids.length);
  }

  async putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    assertPackName(name);
    const pack = new CollectedPack(this.#freePieces, this.#options.spool);
    try {
      for await (const chunk of body) {
        if (pack.size + chunk.length > maxRequestBytes.pack) throw new FormatError("a pack is too long");
        await pack.add(chunk);
      }
      const request = { operation: "pack", name, size: pack.size, chunks: () => pack.chunks() } as const;
      readDoneAnswer("pack", await this.#send(request));
      pack.freePieces();
    } finally {
      await pack.remove();
    }
  }

  async register(unit: ClientUnit): Promise<void> {
    readDoneAnswer("register", await this.#send({ operation: "register", body: encodeUnit(unit) }));
  }

  async renew(): Promise<void> {
    readDoneAnswer("renew", await this.#send({ operation: "renew", body: emptyRequest("renew") }));
  }

  async complete(draft: SnapshotDraft): Promise<SnapshotRow> {
    return decodeCompletion(await this.#send({ operation: "complete", body: encodeDraft(draft) }), draft);
  }

  async abandon(): Promise<void> {
    readDoneAnswer("abandon", await this.#send({ operation: "abandon", body: emptyRequest("abandon") }));
  }

  async #send(request: UploadCall): Promise<Uint8Array> {
    const length = request.operation === "pack" ? request.size : request.body.length;
    if (length > maxRequestBytes[request.operation])
      throw new FormatError(`the request ${request.operation} is too long: ${length} bytes`);
    const { call, pause = byTimer, ctx } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await call(request, attempt > 1);
      } catch (error) {
        if (!(error instanceof AnswerLostError) || attempt >= maxAttempts) throw error;
        await pause(pauseAfter(attempt, error.retryAfterMs, ctx.random(1)[0] ?? 0));
      }
    }
  }
}

/** A pause of half to all of its length, so that many clients do not come back at the same moment. */
function pauseAfter(attempt: number, retryAfterMs: number | null, random: number): number {
  const ms = Math.min(firstPauseMs * 2 ** (attempt - 1), maxPauseMs);
  return Math.max(retryAfterMs ?? 0, ms / 2 + (ms / 2) * (random / 255));
}

/** A copy of the body of a pack, whose chunks are valid only until the next one is read. In memory, or in the spool once it is large. */
class CollectedPack {
  readonly #free: Buffer[];
  #pieces: Buffer[] = [];
  #spool: RemoteTargetOptions["spool"];
  #spooled: SpooledPack | null = null;
  size = 0;

  constructor(free: Buffer[], spool: RemoteTargetOptions["spool"]) {
    this.#free = free;
    this.#spool = spool;
  }

  async add(chunk: Uint8Array): Promise<void> {
    if (this.#spool !== undefined && this.size + chunk.length > maxBytesInMemory) await this.#moveToSpool(this.#spool);
    if (this.#spooled === null) this.#copy(chunk);
    else await this.#spooled.write(chunk);
    this.size += chunk.length;
  }

  chunks(): AsyncIterable<Uint8Array> {
    return this.#spooled?.chunks() ?? piecesOf(this.#pieces, this.size);
  }

  /** Other packs may use the pieces: the service has all of them. After a failure a connection may still read them. */
  freePieces(): void {
    this.#free.push(...this.#pieces);
    this.#pieces = [];
  }

  async remove(): Promise<void> {
    await this.#spooled?.remove();
  }

  async #moveToSpool(spool: NonNullable<RemoteTargetOptions["spool"]>): Promise<void> {
    this.#spool = undefined;
    this.#spooled = await spool();
    if (this.#spooled === null) return;
    for await (const piece of piecesOf(this.#pieces, this.size)) await this.#spooled.write(piece);
    this.freePieces();
    // Earlier packs may have been in memory whole; this one and those after it need no more than this.
    this.#free.splice(maxBytesInMemory / pieceBytes);
  }

  #copy(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length; ) {
      const at = (this.size + from) % pieceBytes;
      if (at === 0) this.#pieces.push(this.#free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
      const part = chunk.subarray(from, from + pieceBytes - at);
      this.#pieces.at(-1)?.set(part, at);
      from += part.length;
    }
  }
}

async function* piecesOf(pieces: readonly Uint8Array[], size: number): AsyncGenerator<Uint8Array> {
  for (const [i, piece] of pieces.entries()) yield piece.subarray(0, size - i * pieceBytes);
}

function byTimer(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
