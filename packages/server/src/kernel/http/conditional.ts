/**
 * ETags and the conditions on them. An ETag is a hash of the representation itself, so it depends on nothing but what
 * is shown: not on the token, the process or the language.
 */

import { hash } from "node:crypto";
import { Problem } from "../problems.ts";

/** 128 bits: no two versions of a resource ever share one. */
const etagBytes = 16;

/** An entity tag of RFC 9110, strong or weak; its text may hold a comma. */
const tagForm = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';

/** `If-Match` and `If-None-Match` as RFC 9110 has them: `*`, or tags with commas between them. */
export const conditionPattern = `^(?:\\*|${tagForm}(?:[ \\t]*,[ \\t]*${tagForm})*)$`;

/** Enough for forty of our tags. */
export const maxConditionLength = 1_000;

const conditionRule = new RegExp(conditionPattern);
const tagRule = new RegExp(tagForm, "g");

/** The strong ETag of a JSON value or of bytes. */
export function etagOf(representation: unknown): string {
  const isBytes = representation instanceof Uint8Array || typeof representation === "string";
  const bytes = isBytes ? representation : (JSON.stringify(inOrder(representation)) ?? "");
  return `"${hash("sha256", bytes, "buffer").subarray(0, etagBytes).toString("base64url")}"`;
}

/**
 * The same value with the members of its objects in one order, so that its text is the canonical JSON of RFC 8785 (but for names
 * that are whole numbers, which JavaScript puts first). To write a copy at once is faster than to write a value piece by piece.
 */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  if ("toJSON" in value && typeof value.toJSON === "function") return inOrder(value.toJSON());
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value).sort()) {
    const member = inOrder((value as Readonly<Record<string, unknown>>)[name]);
    // An assignment would set the prototype.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: member, enumerable: true });
    else copy[name] = member;
  }
  return copy;
}

/** Refuses a condition that is written in no form of the document: guessing at it could let a change through. */
export function checkCondition(header: string | undefined): void {
  if (header === undefined) return;
  if (header.length > maxConditionLength || !conditionRule.test(header)) throw new Problem("invalid_header");
}

/** `If-None-Match`: weak comparison (RFC 9110 13.1.2), since a cache may have weakened what it holds. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  return header !== undefined && (header.trim() === "*" || tags(header).some((tag) => strip(tag) === strip(etag)));
}

/** `If-Match`: strong comparison (RFC 9110 13.1.1). */
export function requireMatch(header: string | undefined, representation: unknown): void {
  if (header === undefined || header.trim() === "*") return;
  if (!tags(header).includes(etagOf(representation))) throw new Problem("precondition_failed");
}

function tags(header: string): readonly string[] {
  return conditionRule.test(header) ? (header.match(tagRule) ?? []).map(withoutEncoding) : [];
}

/** Content codings of compressed answers, in the order of our preference. */
export const encodings = ["zstd", "br", "gzip"] as const;
export type Encoding = (typeof encodings)[number];

/** The ETag of a compressed representation. Our own tags have no dot. */
export function tagOfEncoding(etag: string, encoding: Encoding): string {
  return etag.replace(/"$/, `.${encoding}"`);
}

/** Conditions are about the content, whatever its encoding was. */
function withoutEncoding(tag: string): string {
  return tag.replace(encodingAtEnd, '"');
}

const encodingAtEnd = new RegExp(`\\.(?:${encodings.join("|")})"$`);

function strip(tag: string): string {
  return tag.replace(/^W\//, "");
}
