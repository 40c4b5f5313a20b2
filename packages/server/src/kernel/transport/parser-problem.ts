/** Answers that the transport sends without the application. Their text comes from the application. */

import { STATUS_CODES } from "node:http";

/** The reasons for which the transport refuses a request before the application sees it. */
export type ParserProblemKind = "malformed_request" | "headers_too_large" | "request_timeout" | "expectation_failed";

/** A whole answer. `content-length` and `connection` are added by the transport. */
export interface ParserProblem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type WriteParserProblem = (kind: ParserProblemKind) => ParserProblem;

/** The answer as HTTP/1.1 bytes, for a connection whose parser has given up. */
export function problemBytes(problem: ParserProblem): string {
  const lines = Object.entries({ ...problem.headers, ...framing(problem), connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? "Error"}\r\n${head}\r\n${problem.body}`;
}

/** Headers that depend on the body alone. */
export function framing(problem: ParserProblem): Record<string, string> {
  return { "content-length": String(Buffer.byteLength(problem.body)) };
}

/** Which answer an error of Node's HTTP/1.1 parser gets. */
export function kindOfParserError(code: string | undefined): ParserProblemKind {
  if (code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  return "malformed_request";
}
