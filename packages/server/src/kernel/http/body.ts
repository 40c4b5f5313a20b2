/** Request bodies and media types: what may come in, how much of it, and what the client can read. */

import type { IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { Problem } from "../problems.ts";
import type { EndpointSpec, RawCall } from "./endpoint.ts";
import { missedDeadline, type RequestSignal } from "./request-signal.ts";
import { parseStrictJson } from "./strict-json.ts";

/** The terms on which a body is read. */
export interface BodyTerms {
  readonly limitBytes: number;
  /** Ends at the deadline of the operation, or when the client goes away. */
  readonly end: Pick<RequestSignal, "onAbort" | "reason" | "aborted" | "throwIfAborted">;
  /** Called before waiting for a body of at most `bytes`. It refuses, or returns what to call at the end of the body. */
  readonly begin: (bytes: number) => () => void;
}

/** Reads a JSON body. */
export async function readJsonBody(raw: IncomingMessage, terms: BodyTerms): Promise<unknown> {
  if (!isJson(raw)) throw new Problem("unsupported_media_type");
  return parseStrictJson(await readBytes(raw, terms));
}

export function isJson({ headers }: IncomingMessage): boolean {
  if ((headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return false;
  return /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(headers["content-type"] ?? "");
}

/** Reads a body to its end; the limit holds whether or not a length was announced. */
export async function readBytes(raw: IncomingMessage, { limitBytes, end, begin }: BodyTerms): Promise<Buffer> {
  const announced = Number(raw.headers["content-length"] ?? limitBytes);
  if (announced > limitBytes) throw new Problem("payload_too_large");
  const finish = hasArrived(raw) ? undefined : begin(announced);
  // With an error: over HTTP/2 a request that is destroyed without one does not tell its reader.
  const stopWaiting = end.onAbort(() => void raw.destroy(new Error("too late")));
  try {
    const bytes = await collect(raw, limitBytes);
    if (bytes === "cut") throw new Problem(missedDeadline(end) ? "request_timeout" : "malformed_request");
    if (bytes === "too large") throw new Problem("payload_too_large");
    return bytes;
  } finally {
    stopWaiting();
    finish?.();
  }
}

/**
 * The bytes of a body. `cut`: the client broke off, or the body was destroyed. Listeners, because an iteration over the body
 * costs more than the rest of a small request.
 */
function collect(raw: IncomingMessage, limitBytes: number): Promise<Buffer | "cut" | "too large"> {
  const { promise, resolve } = Promise.withResolvers<Buffer | "cut" | "too large">();
  if (raw.destroyed) resolve("cut");
  const chunks: Buffer[] = [];
  let size = 0;
  raw.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limitBytes) return void chunks.push(chunk);
    // The rest is discarded. To destroy the request would close the connection before the answer.
    chunks.length = 0;
    resolve("too large");
  });
  raw.once("end", () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
  // The client does not read the answer, and the fault is not ours.
  raw.once("error", () => resolve("cut"));
  raw.once("close", () => resolve("cut"));
  return promise;
}

/** Whether the last byte is here, read or not. */
function hasArrived(raw: IncomingMessage): boolean {
  return "stream" in raw ? (raw.stream as ServerHttp2Stream).state.remoteClose === 1 : raw.complete;
}

/** Reads a request as it came; a body that is no form, or too large, is refused. */
export async function readRawCall(raw: IncomingMessage, terms: BodyTerms): Promise<RawCall> {
  const { method = "", url = "", headers } = raw;
  const type = headers["content-type"];
  const hasBody = method === "POST" || Number(headers["content-length"] ?? 0) > 0 || "transfer-encoding" in headers;
  if (!hasBody) return { method, url, headers, form: "" };
  const isForm = /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type ?? "");
  if (type !== undefined && !isForm) throw new Problem("unsupported_media_type");
  const bytes = await readBytes(raw, terms);
  if (bytes.length > 0 && !isForm) throw new Problem("unsupported_media_type");
  return { method, url, headers, form: bytes.toString() };
}

/** `{}`, with the line break or indentation that some libraries add. */
const maxEmptyObjectBytes = 16;

/**
 * For operations without a body: a body that is sent nevertheless is refused, because it would be ignored silently. An empty
 * JSON object is allowed: many libraries send one with every POST.
 */
export async function refuseBody(raw: IncomingMessage, terms: BodyTerms): Promise<undefined> {
  const limitBytes = raw.method === "POST" && isJson(raw) ? maxEmptyObjectBytes : 0;
  const bytes = await readBytes(raw, { ...terms, limitBytes });
  if (bytes.length > 0 && !/^\s*\{\s*\}\s*$/.test(bytes.toString())) throw new Problem("payload_too_large");
}

/** Whether no byte of a body can come. */
export function hasNoBody(raw: IncomingMessage): boolean {
  return Number(raw.headers["content-length"] ?? 0) === 0 && !mayFollow(raw);
}

/** Whether bytes can come that no length announced. */
function mayFollow(raw: IncomingMessage): boolean {
  if (!("stream" in raw)) return raw.headers["transfer-encoding"] !== undefined;
  return !(raw.stream as ServerHttp2Stream).endAfterHeaders;
}

/** Refuses when the client says that it could not read the answer. */
export function acceptable(spec: EndpointSpec, accept: string | undefined): void {
  if (accept === undefined || accept.trim() === "") return;
  const weights = new Map(accept.split(",").map(mediaRange));
  const produced = Object.values(spec.replies).flatMap((reply) =>
    "content" in reply ? reply.content : "stream" in reply ? reply.stream : ["application/json"],
  );
  // The most exact range decides (RFC 9110, section 12.5.1); a weight of 0 means "not this one".
  const weightOf = (type: string) => weights.get(type) ?? weights.get(type.replace(/\/.*/, "/*")) ?? weights.get("*/*");
  if (!produced.some((type) => (weightOf(type) ?? 0) > 0)) throw new Problem("not_acceptable");
}

/** A range and its weight; one that cannot be read counts in full. */
function mediaRange(text: string): [string, number] {
  const [range = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, "");
  return [range, weight !== undefined && /^0(\.0*)?$/.test(weight) ? 0 : 1];
}
