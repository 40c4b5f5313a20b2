/**
 * The calls of the upload protocol and of the read protocol over the API (docs/PROTOCOL.md). Errors of HTTP become those of the
 * engine: a lost answer is repeated, a refusal is not.
 */

import type { EmanetClient, StreamedBody } from "@emanet/client/source";
import { ConnectionError, ProblemError, UnexpectedAnswerError } from "@emanet/client/source";
import {
  AnswerLostError,
  CatalogError,
  errorOfRefusal,
  isReason,
  ObjectStoreError,
  type ReadCalls,
  type ReadOperation,
  type UploadCall,
} from "@emanet/engine/remote";
import type { Throttle } from "./throttle.ts";

/** The engine repeats calls itself, and knows how long a service may be away. */
const once = { retries: { max: 0 } } as const;

/**
 * For the calls that begin a backup. A service that restarts or is too busy has a minute, so that a night is not lost; the calls of the upload
 * wait longer.
 */
export const patiently = { retries: { max: 10 } } as const;

/**
 * Sends the calls of one upload. A pack is sent again only when the service asks for it: one that cannot take it now, because its database is away, would
 * get all of it each time.
 */
export function uploadCalls(
  { uploads }: EmanetClient,
  id: string,
): (call: UploadCall, isRepeated: boolean) => Promise<Uint8Array> {
  return async (call, isRepeated) => {
    try {
      if (call.operation !== "pack")
        return await bytesOf(uploads[call.operation]({ id, body: plain(call.body) }, once));
      const body = () => ReadableStream.from(call.chunks());
      const headers = { "content-length": String(call.size), ...(isRepeated && { expect: "100-continue" }) };
      return await bytesOf(uploads.putPack({ id, name: call.name, body }, { ...once, headers }));
    } catch (error) {
      throw uploadError(error);
    }
  };
}

/** Times that a read is made. With the pauses a service may be away for two minutes. */
const maxAttempts = 8;
const firstPauseMs = 500;
const maxPauseMs = 30_000;

/** Reads of one snapshot, by its own calls or by those of an order (`snapshotReads`, `orderReads`). */
export interface ReadTransport {
  readonly call: (operation: ReadOperation, body: Uint8Array<ArrayBuffer>) => Promise<StreamedBody>;
  readonly pack: (name: string, range: string) => Promise<StreamedBody>;
}

export function snapshotReads({ reads }: EmanetClient, id: string): ReadTransport {
  return {
    call: (operation, body) => reads[operation]({ id, body }, once),
    pack: (name, range) => reads.readPack({ id, name }, { ...once, headers: { range } }),
  };
}

/** Reads for an order: only what it names, while it runs. */
export function orderReads({ orders }: EmanetClient, id: string): ReadTransport {
  const operations = {
    open: "readOpen",
    items: "readItems",
    frames: "readFrames",
    keys: "readKeys",
    find: "readFind",
  } as const;
  return {
    call: (operation, body) => orders[operations[operation]]({ id, body }, once),
    pack: (name, range) => orders.readPack({ id, name }, { ...once, headers: { range } }),
  };
}

export function readCalls(
  transport: ReadTransport,
  wait: (ms: number) => Promise<void>,
  throttle: Throttle | null = null,
): ReadCalls {
  const repeated = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (caught) {
        const error = lostOr(caught);
        if (!(error instanceof AnswerLostError) || attempt >= maxAttempts) throw error;
        await wait(Math.max(error.retryAfterMs ?? 0, Math.min(firstPauseMs * 2 ** (attempt - 1), maxPauseMs)));
      }
    }
  };
  return {
    call: async (operation, request) => {
      const bytes = await repeated(() => bytesOf(transport.call(operation, plain(request))));
      // It has content of packs in it.
      if (operation === "find") await throttle?.take(bytes.length);
      return bytes;
    },
    readPack: (pack, { offset, length }) =>
      repeated(async () => {
        try {
          await throttle?.take(length);
          const bytes = await bytesOf(transport.pack(pack, `bytes=${offset}-${offset + length - 1}`));
          if (bytes.length !== length) throw new ObjectStoreError("range", "the pack is shorter");
          return bytes;
        } catch (error) {
          if (error instanceof ProblemError && error.code === "not_found")
            throw new ObjectStoreError("not_found", "the pack is gone", { cause: error });
          if (error instanceof ProblemError && error.code === "range_not_satisfiable")
            throw new ObjectStoreError("range", "the pack is shorter", { cause: error });
          throw error;
        }
      }),
  };
}

async function bytesOf(answer: Promise<StreamedBody>): Promise<Uint8Array<ArrayBuffer>> {
  return (await answer).bytes();
}

/** A body of this type has memory that nobody else shares. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

function uploadError(error: unknown): unknown {
  if (!(error instanceof ProblemError)) return lostOr(error);
  const { reason } = error.problem;
  if (reason !== undefined && reason !== "stale" && isReason(reason))
    return errorOfRefusal({ reason, detail: error.errors[0]?.detail ?? error.problem.detail });
  if (error.status === 404) return new CatalogError("unknown_upload", error.message);
  return lostOr(error);
}

/** `AnswerLostError` where the call may be repeated; every other error as it is. */
function lostOr(error: unknown): unknown {
  if (error instanceof ConnectionError) return new AnswerLostError(error.message, { cause: error });
  if (error instanceof UnexpectedAnswerError && error.status >= 500)
    return new AnswerLostError(error.message, { cause: error });
  if (!(error instanceof ProblemError)) return error;
  const seconds = Number(error.headers.get("retry-after") ?? "1");
  const mayPass = error.status === 429 || error.status === 503 || error.code === "request_timeout";
  // A process that is killed while it answers leaves an answer without cause.
  if (mayPass || error.status === 500)
    return new AnswerLostError(error.message, { cause: error, retryAfterMs: seconds * 1000 });
  return error;
}
