/** Request bodies and media types: what may come in, how much of it, and what the client can read. */

import type { IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { Problem } from "../problems.ts";
import type { EndpointSpec, RawCall } from "./endpoint.ts";
import { parseStrictJson } from "./strict-json.ts";

/** Reads a JSON body. */
export async function readJsonBody(raw: IncomingMessage, limitBytes: number): Promise<unknown> {
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(raw.headers["content-type"] ?? "")) {
    throw new Problem("unsupported_media_type");
  }
  if ((raw.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") {
    throw new Problem("unsupported_media_type");
  }
  return parseStrictJson(await readBytes(raw, limitBytes));
}

/** Reads a body to its end; the limit holds whether or not a length was announced. */
export async function readBytes(raw: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (Number(raw.headers["content-length"] ?? 0) > limitBytes) throw new Problem("payload_too_large");
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limitBytes) throw new Problem("payload_too_large");
      chunks.push(chunk);
    }
  } catch (error) {
    // The client broke off; nobody reads the answer, and it is no fault of ours.
    throw error instanceof Problem ? error : new Problem("malformed_request");
  }
  return Buffer.concat(chunks, size);
}

/** Reads a request as it came; a body that is no form, or too large, is refused. */
export async function readRawCall(raw: IncomingMessage, limitBytes: number): Promise<RawCall> {
  const { method = "", url = "", headers } = raw;
  const type = headers["content-type"];
  const hasBody = method === "POST" || Number(headers["content-length"] ?? 0) > 0 || "transfer-encoding" in headers;
  if (!hasBody) return { method, url, headers, form: "" };
  const isForm = /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type ?? "");
  if (type !== undefined && !isForm) throw new Problem("unsupported_media_type");
  const bytes = await readBytes(raw, limitBytes);
  if (bytes.length > 0 && !isForm) throw new Problem("unsupported_media_type");
  return { method, url, headers, form: bytes.toString() };
}

/** For operations without a body: what is sent all the same would be dropped without a word. */
export async function refuseBody(raw: IncomingMessage): Promise<undefined> {
  if (Number(raw.headers["content-length"] ?? 0) > 0) throw new Problem("payload_too_large");
  if (!mayFollow(raw)) return;
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      if (chunk.length > 0) throw new Problem("payload_too_large");
    }
  } catch (error) {
    throw error instanceof Problem ? error : new Problem("malformed_request");
  }
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
    "content" in reply ? reply.content : ["application/json"],
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
