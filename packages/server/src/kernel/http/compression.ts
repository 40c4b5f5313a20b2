/**
 * Answers are compressed for clients that accept it: documents that are the same for everyone, problems, and JSON above
 * 1 KiB that carries no secret.
 *
 * The length of a compressed answer tells something about its content (BREACH): who can put text into an answer and see its
 * length can guess a secret in it, letter by letter. So the declaration of an endpoint decides, and what is not known to be
 * harmless is sent as it is; see {@link carriesNoSecret}. Problems never hold a secret.
 *
 * A compressed answer is another representation, so its ETag ends with the name of the encoding (RFC 9110, 8.8.3.3). The
 * conditions of requests are compared without it.
 */

import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from "node:zlib";
import type { Answer } from "./answer.ts";
import { type Encoding, encodings, tagOfEncoding } from "./conditional.ts";
import { type EndpointSpec, hasStream } from "./endpoint.ts";
import { single } from "./request-context.ts";

/** A smaller answer fits into one packet with its headers, compressed or not. */
export const minCompressedBytes = 1024;

/** The answer as this client gets it. A promise only if it is large or a document. */
export type Compressor = (answer: Answer, headers: IncomingHttpHeaders) => Answer | Promise<Answer>;

/** Decides by the spec of an endpoint which of its answers may be compressed. */
export function compressor(spec: EndpointSpec): Compressor {
  const isHarmless = carriesNoSecret(spec);
  const streams = hasStream(spec);
  return (answer, headers) => {
    // A stream is sent as it is, so that a part of it is a part of the content.
    if (answer.stream !== undefined || (streams && answer.status === 304)) return answer;
    if (answer.status === 304) return withTagOfClient(answer, isHarmless, single(headers["if-none-match"]));
    if (!isLong(answer) || !isCompressible(answer, isHarmless)) return answer;
    const encoding = chooseEncoding(single(headers["accept-encoding"]));
    return encoding === null ? withVary(answer) : compress(answer, encoding);
  };
}

/**
 * Whether no answer of an endpoint holds a secret: a GET without cookies, whose spec neither declares `secret` nor has a field
 * with the name of one. Secrets are shown in answers to the POST that made them. The other protocols (OAuth, pages with the
 * token of a form) are left out.
 */
export function carriesNoSecret({ method, cookies, wire, secret, replies }: EndpointSpec): boolean {
  if (method !== "GET" || cookies !== undefined || wire !== undefined || secret === true) return false;
  return Object.values(replies).every((reply) => !("body" in reply) || !hasSecretField(reply.body));
}

const secretName = /(?:^|_)(?:secret|token|password|passphrase|csrf|otp|private_key|recovery_codes?|cookie)s?$/;

/** Looks at every part of a schema. */
function hasSecretField(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  const names = "properties" in part ? Object.keys(part.properties ?? {}) : [];
  return names.some((name) => secretName.test(name)) || Object.values(part).some(hasSecretField);
}

function isLong({ body }: Answer): boolean {
  return body.length > minCompressedBytes || Buffer.byteLength(body) > minCompressedBytes;
}

/** Texts; images and archives are compressed already. */
const textTypes = /^(?:application\/(?:json|yaml)|text\/(?:html|css|javascript))(?:;|$)/;
const jsonType = /^application\/json(?:;|$)/;
const problemType = /^application\/problem\+json(?:;|$)/;

function isCompressible(answer: Answer, isHarmless: boolean): boolean {
  const { headers } = answer;
  const type = String(headers["content-type"] ?? "");
  if (headers["content-encoding"] !== undefined || headers["set-cookie"] !== undefined) return false;
  if (isDocument(answer)) return textTypes.test(type);
  return problemType.test(type) || (isHarmless && jsonType.test(type));
}

/** The same for everyone, by its own declaration. */
function isDocument({ headers }: Answer): boolean {
  return /^public\b/.test(String(headers["cache-control"] ?? ""));
}

/**
 * The encoding that the client prefers, and of equal ones the one that we prefer; null for none (RFC 9110, 12.5.3).
 *
 * @example
 * chooseEncoding("gzip, br;q=0.5") // "gzip"
 */
export function chooseEncoding(header: string | undefined): Encoding | null {
  if (header === undefined) return null;
  const weights = new Map<string, number>();
  for (const part of header.split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2) ?? "1";
    weights.set(name, weightPattern.test(weight) ? Number(weight) : 0);
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  const [best] = encodings.toSorted((a, b) => weightOf(b) - weightOf(a));
  if (best === undefined || weightOf(best) === 0) return null;
  return weightOf(best) < (weights.get("identity") ?? 0) ? null : best;
}

const weightPattern = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

function compress(answer: Answer, encoding: Encoding): Answer | Promise<Answer> {
  const { status, body, headers } = withVary(answer);
  const isStored = typeof body !== "string" && isDocument(answer);
  const encoded = isStored ? compressDocument(body, encoding) : compressAnswer(body, encoding);
  const etag = typeof headers.etag === "string" ? { etag: tagOfEncoding(headers.etag, encoding) } : {};
  const asSent = (bytes: Buffer) => ({
    status,
    headers: { ...headers, ...etag, "content-encoding": encoding },
    body: bytes,
  });
  return encoded instanceof Promise ? encoded.then(asSent) : asSent(encoded);
}

function withVary(answer: Answer): Answer {
  const names = [answer.headers.vary ?? []].flat();
  return { ...answer, headers: { ...answer.headers, vary: [...names, "Accept-Encoding"].join(", ") } };
}

/** A 304 has the ETag of the representation that the client has. */
function withTagOfClient(answer: Answer, isHarmless: boolean, ifNoneMatch = ""): Answer {
  const { etag } = answer.headers;
  if (typeof etag !== "string" || !(isHarmless || isDocument(answer))) return answer;
  const held = encodings.map((encoding) => tagOfEncoding(etag, encoding)).find((tag) => ifNoneMatch.includes(tag));
  return withVary({ ...answer, headers: { ...answer.headers, etag: held ?? etag } });
}

/** Compressing as much takes less than a millisecond. Handing it to another thread would cost as much CPU time again. */
const maxBytesAtOnce = 64 * 1024;

/** Fast levels: on a page of a list higher ones take two to five times the CPU time and save a tenth. */
const level = {
  zstd: { params: { [constants.ZSTD_c_compressionLevel]: 1 } },
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
  gzip: { level: 1 },
} as const;

/** An answer that is made for one request. */
function compressAnswer(body: string | Buffer, encoding: Encoding): Buffer | Promise<Buffer> {
  const atOnce = Buffer.byteLength(body) <= maxBytesAtOnce;
  switch (encoding) {
    case "zstd":
      return atOnce ? zstdCompressSync(body, level.zstd) : zstd(body, level.zstd);
    case "br":
      return atOnce ? brotliCompressSync(body, level.br) : brotli(body, level.br);
    case "gzip":
      return atOnce ? gzipSync(body, level.gzip) : gzipped(body, level.gzip);
  }
}

const zstd = promisify(zstdCompress);
const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** Documents that the service keeps as bytes, each encoding once. */
const documents = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

function compressDocument(body: Buffer, encoding: Encoding): Promise<Buffer> {
  const known = documents.get(body) ?? new Map<Encoding, Promise<Buffer>>();
  documents.set(body, known);
  const made = known.get(encoding) ?? thorough[encoding](body);
  known.set(encoding, made);
  return made;
}

/** The first client waits for it, so even the largest script (4 MB) takes less than a second. */
const thorough: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  zstd: (body) => zstd(body, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }),
  br: (body) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => gzipped(body, { level: 9 }),
};
