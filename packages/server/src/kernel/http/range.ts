/**
 * One range of content (RFC 9110, section 14). Several ranges, and a header in another form, are ignored: the whole is a right
 * answer to both.
 */

import { Problem } from "../problems.ts";
import { noneMatch } from "./conditional.ts";
import type { ReplyStream } from "./reply-stream.ts";

/** The request headers that say which part is wanted, and on what condition. */
export interface RangeConditions {
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** Which bytes to send: `start` to `end`, `end` not included. */
export type WantedRange =
  | { readonly kind: "whole"; readonly start: 0; readonly end: number }
  | { readonly kind: "range"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

const oneRange = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** As the document says. A longer header is ignored like one in another form. */
const maxRangeLength = 200;

/**
 * The bytes that a request asks for, of content with so many bytes and this strong ETag. A client that already has the
 * content is not refused: its answer is 304.
 *
 * @example
 * rangeOf({ range: "bytes=-2" }, 10, '"a"') // { kind: "range", start: 8, end: 10 }
 */
export function rangeOf({ range, ifRange, ifNoneMatch }: RangeConditions, size: number, etag: string): WantedRange {
  const whole = { kind: "whole", start: 0, end: size } as const;
  // A date or a weak tag in `If-Range` proves nothing about the bytes.
  const isSame = ifRange === undefined || (ifRange === etag && !etag.startsWith("W/"));
  if (range === undefined || !isSame) return whole;
  if (noneMatch(ifNoneMatch, etag)) return whole;
  // Digits beyond what a number holds exactly are beyond every size too.
  const [, first = "", last = ""] = (range.length <= maxRangeLength && oneRange.exec(range)) || [];
  if (first === "" && last === "") return whole;
  if (first === "") {
    const count = Math.min(Number(last), size);
    return count === 0 ? { kind: "unsatisfiable" } : { kind: "range", start: size - count, end: size };
  }
  const start = Number(first);
  // RFC 9110, 14.1.1: such a range is invalid, so the header is ignored.
  if (last !== "" && BigInt(last) < BigInt(first)) return whole;
  if (start >= size) return { kind: "unsatisfiable" };
  return { kind: "range", start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** Content of which parts can be asked for. */
export interface RangedContent {
  readonly size: number;
  /** Strong, with its quotes. */
  readonly etag: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes from `start` to `end`, `end` not included. */
  readonly chunks: (
    part: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ) => AsyncIterable<Uint8Array>;
  /** As of a {@link ReplyStream}. */
  readonly isAllowed?: ReplyStream["isAllowed"];
  readonly holder?: ReplyStream["holder"];
}

/** The reply with the part that is wanted: 200 or 206. Throws `range_not_satisfiable`. */
export function rangedReply(conditions: RangeConditions, content: RangedContent) {
  const { size, etag, headers, chunks, isAllowed, holder } = content;
  const wanted = rangeOf(conditions, size, etag);
  if (wanted.kind === "unsatisfiable") {
    throw new Problem("range_not_satisfiable", { headers: { "Content-Range": `bytes */${size}` } });
  }
  const { start, end } = wanted;
  const body = {
    ...{ length: end - start, etag, chunks: (signal: AbortSignal) => chunks({ start, end }, signal) },
    ...(isAllowed && { isAllowed }),
    ...(holder && { holder }),
  };
  if (wanted.kind === "whole") return { status: 200, headers: { ...headers }, body } as const;
  return {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${start}-${end - 1}/${size}` },
    body,
  } as const;
}
