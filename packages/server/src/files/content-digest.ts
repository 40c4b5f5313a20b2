/** `Content-Digest` (RFC 9530): digests of a body that the client wants to be compared. */

import { createHash, timingSafeEqual } from "node:crypto";
import { Problem } from "../kernel/problems.ts";

export interface ContentDigest {
  readonly algorithm: "sha256" | "sha512";
  readonly expected: Buffer;
}

const algorithms = { "sha-256": ["sha256", 32], "sha-512": ["sha512", 64] } as const;

/**
 * The digests of a header. Those of other algorithms are ignored, as the RFC says. One of ours that cannot be read is refused:
 * the client wants the content to be compared.
 */
export function digestsOf(header: string | undefined): readonly ContentDigest[] {
  const found: ContentDigest[] = [];
  for (const member of header === undefined ? [] : header.split(",")) {
    const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=\s*(\S*)\s*$/.exec(member) ?? [];
    if (!Object.hasOwn(algorithms, name.toLowerCase())) continue;
    const [algorithm, bytes] = algorithms[name.toLowerCase() as keyof typeof algorithms];
    const encoded = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(value)?.[1] ?? "";
    const expected = Buffer.from(encoded, "base64");
    if (expected.length !== bytes || expected.toString("base64") !== encoded) throw new Problem("invalid_header");
    found.push({ algorithm, expected });
  }
  return found;
}

/** Compares a body that comes in chunks with the digests that its client said. */
export class DigestCheck {
  readonly #digests: readonly ContentDigest[];
  readonly #hashes: readonly ReturnType<typeof createHash>[];

  constructor(digests: readonly ContentDigest[]) {
    this.#digests = digests;
    this.#hashes = digests.map(({ algorithm }) => createHash(algorithm));
  }

  add(chunk: Buffer): void {
    for (const hash of this.#hashes) hash.update(chunk);
  }

  /** Compares all digests. Returns the SHA-256, if it is among them. Throws `content_mismatch`. */
  finish(): Buffer | null {
    let sha256: Buffer | null = null;
    for (const [i, { algorithm, expected }] of this.#digests.entries()) {
      const found = this.#hashes[i]?.digest();
      if (found === undefined || !timingSafeEqual(found, expected)) throw new Problem("content_mismatch");
      if (algorithm === "sha256") sha256 = found;
    }
    return sha256;
  }
}
