/**
 * ETags and the conditions on them. An ETag is a hash of the representation itself, so it depends on nothing but what
 * is shown: not on the token, the process or the language.
 */

import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { Problem } from "../problems.ts";

/** 128 bits: no two versions of a resource ever share one. */
const etagBytes = 16;

/** The strong ETag of a JSON value or of bytes. */
export function etagOf(representation: unknown): string {
  const bytes =
    representation instanceof Uint8Array || typeof representation === "string"
      ? representation
      : (canonicalize(representation) ?? "");
  return `"${createHash("sha256").update(bytes).digest().subarray(0, etagBytes).toString("base64url")}"`;
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

function tags(header: string): string[] {
  return header.split(",").map((tag) => tag.trim());
}

function strip(tag: string): string {
  return tag.replace(/^W\//, "");
}
