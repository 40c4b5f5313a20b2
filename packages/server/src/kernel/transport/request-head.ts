/**
 * The checks of a request's head. Node's parsers have already refused invalid HTTP. These checks refuse heads that a proxy and
 * this service could read in two different ways (request smuggling).
 */

import type { IncomingHttpHeaders } from "node:http";

/** The parts of a request that are checked; both versions of HTTP have them. */
export interface RequestHead {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

export type HeadProblem = "malformed_request" | "headers_too_large";

/** Node drops a second header of these names, but a proxy in front may have read the second one. Each has a bit. */
const singleHeaders = new Map(
  ["authorization", "content-length", "content-type", "expect", "host", "transfer-encoding"].map((name, at) => [
    name,
    1 << at,
  ]),
);

/** Null when the head is correct. */
export function headProblem(head: RequestHead, headerCountMax: number): HeadProblem | null {
  if (head.rawHeaders.length / 2 > headerCountMax) return "headers_too_large";
  if (hasRepeatedHeader(head.rawHeaders)) return "malformed_request";
  if (head.httpVersion === "2.0") return null;
  // Node's parser still lets HTTP/0.9 pass.
  if (head.httpVersion !== "1.0" && head.httpVersion !== "1.1") return "malformed_request";
  // RFC 9112, section 3.2: HTTP/1.1 requires Host.
  if (head.httpVersion === "1.1" && head.headers.host === undefined) return "malformed_request";
  return isFramingClear(head) ? null : "malformed_request";
}

/**
 * The path and query of an absolute-form target (`GET https://host/path`), which RFC 9112 obliges servers to accept.
 * The host in it is ignored, like `Host`.
 */
export function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function hasRepeatedHeader(rawHeaders: readonly string[]): boolean {
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = singleHeaders.get(rawHeaders[index]?.toLowerCase() ?? "");
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return true;
    seen |= bit;
  }
  return false;
}

/** Only plain chunking is decoded, and only HTTP/1.1 has it (RFC 9112, section 6.1). */
function isFramingClear(head: RequestHead): boolean {
  const coding = head.headers["transfer-encoding"];
  if (coding === undefined) return true;
  return head.httpVersion === "1.1" && coding.toLowerCase() === "chunked";
}
