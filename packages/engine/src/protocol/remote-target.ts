/**
 * The upload target of a client: every call is a message of the upload protocol. It knows no HTTP; `call` sends a request and
 * returns the answer.
 *
 * A call whose answer is lost is repeated after a pause that grows. Every call may be repeated (`backup/upload-target.ts`, rule
 * 1). A refusal is not repeated: `call` rejects with the error of `errorOfRefusal`.
 *
 * A pack is collected before it is sent, because only a pack that is kept can be sent again, and because the service wants to know
 * its size before it takes it. So a pack that is being filled is in memory: 16 MiB by default (docs/decisions/0530). Its memory is a
 * list of pieces that the next packs use again (docs/decisions/0595).
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
   * `errorOfRefusal` if the service refused it.
   */
  readonly call: (request: UploadCall) => Promise<Uint8Array>;
  /** Waits. The system's timer if absent. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
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
    const { pieces, size } = await this.#collect(body);
    const request = { operation: "pack", name, size, chunks: () => streamOf(pieces, size) } as const;
    readDoneAnswer("pack", await this.#send(request));
    // The service has all of it, so nothing reads the pieces any more. After a failure a connection may.
    this.#freePieces.push(...pieces);
  }

  /** A copy of a body. Its chunks are valid only until the next one is read. */
  async #collect(body: AsyncIterable<Uint8Array>): Promise<{ pieces: readonly Buffer[]; size: number }> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const chunk of body) {
      if (size + chunk.length > maxRequestBytes.pack) throw new FormatError("a pack is too long");
      for (let from = 0; from < chunk.length; ) {
        const at = size % pieceBytes;
        if (at === 0) pieces.push(this.#freePieces.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
        const part = chunk.subarray(from, from + pieceBytes - at);
        pieces.at(-1)?.set(part, at);
        from += part.length;
        size += part.length;
      }
    }
    return { pieces, size };
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
        return await call(request);
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

async function* streamOf(pieces: readonly Uint8Array[], size: number): AsyncGenerator<Uint8Array> {
  for (const [i, piece] of pieces.entries()) yield piece.subarray(0, size - i * pieceBytes);
}

function byTimer(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
