/**
 * Embedded texts that were cut before. An issuer's invoices all carry the same style sheet: four fifths of their bytes
 * would be cut and hashed to the same blocks again and again. A text is recognised by a checksum at five times the speed
 * of SHA-256, and what was found out about it the first time is taken from memory (docs/decisions/0124).
 *
 * The checksum is GMAC under a key of the session and worker, which dies with them. Of two different texts, whoever chose
 * them without knowing the key, the chance of one checksum is their length in AES blocks over 2^128. The nonce is always
 * the same, so checksums must never leave this class: two of them would tell the key. One object per session: shared
 * between vaults, the time that a text takes would tell one vault what another has.
 */

import { createCipheriv } from "node:crypto";
import { deriveKey } from "../../format/hash.ts";
import type { BlockRun, CutBlocks } from "./cutter.ts";

/** A shorter text is hashed as fast as it is looked up. */
const minTextBytes = 16 * 1024;

/** Texts remembered: a kilobyte or two each, more than an office has issuers. When there are more, all are forgotten. */
const maxTexts = 1024;

const nonce = new Uint8Array(12);

export class EmbeddedTextCache {
  readonly #key: Uint8Array;
  readonly #blocks = new Map<string, BlockRun>();
  readonly #most: number;

  /** `secret` is the session's and nobody else's. */
  constructor(secret: Uint8Array, most = maxTexts) {
    this.#key = deriveKey(secret, "known texts");
    this.#most = most;
  }

  /** Adds a text's blocks to the list: those it had before, or those that `cut` adds. */
  add(text: Uint8Array, list: CutBlocks, cut: () => void): void {
    if (text.length < minTextBytes) {
      cut();
      return;
    }
    const checksum = this.#checksum(text);
    const known = this.#blocks.get(checksum);
    if (known !== undefined) {
      list.append(known);
      return;
    }
    const before = list.count;
    cut();
    if (this.#blocks.size >= this.#most) this.#blocks.clear();
    this.#blocks.set(checksum, list.from(before));
  }

  #checksum(text: Uint8Array): string {
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(text);
    cipher.final();
    return cipher.getAuthTag().toString("latin1");
  }
}
