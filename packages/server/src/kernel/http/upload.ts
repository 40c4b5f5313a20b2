/**
 * Streamed request bodies. An operation with `upload` in its spec gets its body as chunks and reads them itself, so a body of
 * any size takes little memory. Everything that the spec can refuse is refused before the first byte is read, and 100
 * (Continue) leaves with the first read.
 */

import type { IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { Problem } from "../problems.ts";
import { bodyProgressOf } from "../transport/request-body.ts";
import type { RequestSignal } from "./request-signal.ts";

/** What a streamed body may be. */
export interface UploadSpec {
  /** A body without a type is taken too, unless `needsType` is set: `curl -T` sends none. */
  readonly mediaTypes: readonly string[] | "any";
  /** A body without a type is refused. */
  readonly needsType?: true;
  /** With this query parameter a body of any type is taken as content, JSON too. */
  readonly anyTypeWith?: string;
  /** Content codings beside `identity`. The handler decodes them. */
  readonly encodings?: readonly string[];
  /** Bytes as they are sent. */
  readonly maxBytes: number;
  /** The body has failed when less than {@link leastBytesPerStall} arrive in so much time of waiting for them. */
  readonly stallMs: number;
}

/** The body of a request, not read yet. */
export interface Upload {
  /** Type and subtype in small letters, without parameters. */
  readonly mediaType: string | null;
  /** In small letters; null for a body that is not encoded. */
  readonly encoding: string | null;
  /** Of `Content-Length`; null when the client did not send one. */
  readonly announcedBytes: number | null;
  /**
   * The body, to be read once. Throws {@link UploadInterrupted} when it does not come to its end, and `payload_too_large` when
   * it is longer than the spec allows. A reader that stops early leaves the rest to the transport.
   */
  chunks(): AsyncIterable<Buffer>;
}

/** A trickle that keeps a body alive. The time for it is the spec's `stallMs`. */
export const leastBytesPerStall = 1024;

/** A body that did not come to its end: its client has left (`gone`), or sends too slowly (`stalled`). */
export class UploadInterrupted extends Problem {
  readonly reason: "gone" | "stalled";

  constructor(reason: "gone" | "stalled") {
    super(reason === "stalled" ? "request_timeout" : "malformed_request");
    this.reason = reason;
  }
}

/** The request's own part in the terms of an upload. */
export type UploadEnd = Pick<RequestSignal, "onAbort" | "pause" | "restart">;

/** Checks the head of a streamed body. Throws `unsupported_media_type`, `payload_too_large`, `invalid_header`. */
export function openUpload(
  raw: IncomingMessage,
  spec: UploadSpec,
  query: Readonly<Record<string, unknown>>,
  end: UploadEnd,
): Upload {
  const { headers } = raw;
  // RFC 9110, 14.5: a part must not be taken for the whole.
  if (headers["content-range"] !== undefined) throw new Problem("invalid_header");
  const mediaType = headers["content-type"] === undefined ? null : essenceOf(headers["content-type"]);
  const isAnyType = spec.mediaTypes === "any" || hasAnyType(spec, query);
  const isTaken = mediaType === null ? spec.needsType !== true : isAnyType || spec.mediaTypes.includes(mediaType);
  if (!isTaken) throw new Problem("unsupported_media_type");
  const encoding = encodingOf(headers["content-encoding"], spec);
  const announced = headers["content-length"];
  const announcedBytes = announced === undefined ? null : Number(announced);
  if (announcedBytes !== null && announcedBytes > spec.maxBytes) throw new Problem("payload_too_large");
  let isRead = false;
  const chunks = () => {
    if (isRead) throw new Error("an upload is read once");
    isRead = true;
    return readUpload(raw, spec, end);
  };
  return { mediaType, encoding, announcedBytes, chunks };
}

/** Whether the query makes a body of any type content. */
export function hasAnyType({ anyTypeWith }: UploadSpec, query: Readonly<Record<string, unknown>>): boolean {
  return anyTypeWith !== undefined && Object.hasOwn(query, anyTypeWith);
}

/** RFC 9110, 5.6.2. */
const token = "[!#$%&'*+.^_`|~0-9a-z-]+";
const mediaTypePattern = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`);

function essenceOf(contentType: string): string {
  const essence = mediaTypePattern.exec(contentType.toLowerCase())?.[1];
  if (essence === undefined) throw new Problem("unsupported_media_type");
  return essence;
}

function encodingOf(contentEncoding: string | undefined, { encodings = [] }: UploadSpec): string | null {
  const encoding = (contentEncoding ?? "identity").toLowerCase();
  if (encoding === "identity") return null;
  if (!encodings.includes(encoding)) throw new Problem("unsupported_media_type");
  return encoding;
}

async function* readUpload(raw: IncomingMessage, spec: UploadSpec, end: UploadEnd): AsyncGenerator<Buffer, void> {
  let interrupted: UploadInterrupted | null = null;
  let failRead: ((error: Error) => void) | undefined;
  const cut = (reason: UploadInterrupted["reason"]) => {
    interrupted ??= new UploadInterrupted(reason);
    // Directly: over HTTP/2 a request that was destroyed before anybody read it does not tell its reader.
    failRead?.(interrupted);
    raw.destroy(interrupted);
  };
  bodyProgressOf(raw)?.watch({
    windowBytes: leastBytesPerStall,
    windowMs: spec.stallMs,
    onTooSlow: () => cut("stalled"),
  });
  const stopWaiting = end.onAbort(() => cut("gone"));
  const incoming: AsyncIterator<Buffer> = raw[Symbol.asyncIterator]();
  const next = () =>
    new Promise<IteratorResult<Buffer, unknown>>((resolve, reject) => {
      if (interrupted !== null) reject(interrupted);
      failRead = reject;
      incoming.next().then(resolve, () => reject(interrupted ?? new UploadInterrupted("gone")));
    });
  let size = 0;
  try {
    // While the client sends, its own rule counts the time, and not the deadline of the operation.
    for (end.pause(); ; end.pause()) {
      const { value, done } = await next();
      end.restart();
      if (done) break;
      size += value.length;
      if (size > spec.maxBytes) throw new Problem("payload_too_large");
      yield value;
    }
    if (!(await isWhole(raw))) throw new UploadInterrupted("gone");
  } finally {
    stopWaiting();
    end.restart();
    // Not waited for: it would wait for a read that may never end.
    incoming.return?.().catch(() => undefined);
  }
}

/**
 * Whether the last byte has come. `complete` says nothing over HTTP/2: Node sets it for a stream that was reset too. There a
 * reset can follow the end at once (Node's own client cancels like that). Two turns later what came with the end has been read,
 * and a stream that was reset has no state.
 */
async function isWhole(raw: IncomingMessage): Promise<boolean> {
  if (!("stream" in raw)) return raw.complete;
  await setImmediate();
  await setImmediate();
  return (raw.stream as ServerHttp2Stream).state.remoteClose === 1;
}
