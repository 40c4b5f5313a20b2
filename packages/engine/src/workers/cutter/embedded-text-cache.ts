/**
 * Caches the blocks of embedded texts. All invoices of an issuer contain the same style sheet, which is four fifths of
 * their bytes. Cutting and hashing it again gives the same blocks. A checksum that is five times as fast as SHA-256 finds
 * the blocks of a text that was cut before (docs/decisions/0124).
 *
 * The checksum is GMAC under a key of the session and worker that is never stored. For two different texts chosen without
 * the key, the probability of equal checksums is their length in AES blocks over 2^128. The nonce is constant, so a
 * checksum must never leave this class: two of them would reveal the key. There is one cache per session: if vaults
 * shared one, the time of a backup would reveal to one vault what another has.
 */

import { createCipheriv } from "node:crypto";
import { deriveKey } from "../../format/hash.ts";
import type { BlockRun, CutBlocks } from "./cutter.ts";

/** Looking up a shorter text is not faster than hashing it. */
const minTextBytes = 16 * 1024;

/** Cached texts, of one or two kilobytes each: more than an office has issuers. A full cache is cleared. */
const maxTexts = 1024;

const nonce = new Uint8Array(12);

export class EmbeddedTextCache {
  readonly #key: Uint8Array;
  readonly #blocks = new Map<string, BlockRun>();
  readonly #maxTexts: number;

  /** `secret` must belong to this session alone. */
  constructor(secret: Uint8Array, limit = maxTexts) {
    this.#key = deriveKey(secret, "embedded texts");
    this.#maxTexts = limit;
  }

  /** Adds a text's blocks to the list: cached ones, or those that `cut` adds. */
  add(text: Uint8Array, list: CutBlocks, cut: () => void): void {
    if (text.length < minTextBytes) {
      cut();
      return;
    }
    const checksum = this.#checksum(text);
    const cached = this.#blocks.get(checksum);
    if (cached !== undefined) {
      list.append(cached);
      return;
    }
    const before = list.count;
    cut();
    if (this.#blocks.size >= this.#maxTexts) this.#blocks.clear();
    this.#blocks.set(checksum, list.copyFrom(before));
  }

  #checksum(text: Uint8Array): string {
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(text);
    cipher.final();
    return cipher.getAuthTag().toString("latin1");
  }
}
