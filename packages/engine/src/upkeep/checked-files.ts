/**
 * The files that verify has checked, so that a file is planned once, however many nodes and snapshots have it. A changed leaf
 * has one new entry and some twenty old ones.
 *
 * What is checked of a file follows from its size, hash and content. The set keeps 16 bytes of a SHA-256 over these, in
 * a hash table with open addressing. `memoryBytes` limits it; files that do not fit are checked again.
 */

import { ByteWriter } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import type { FileEntry } from "../format/tree-entry.ts";
import { writeContent } from "../format/tree-entry.ts";

/** Two of 2^48 files have the same fingerprint with a chance of 2^-33. */
const fingerprintBytes = 16;

/** A fuller table needs long searches. */
const maxFill = 0.75;

const firstSlots = 1024;

export class CheckedFiles {
  readonly #maxSlots: number;
  readonly #scratch = new ByteWriter(1024);
  #table = Buffer.alloc(0);
  #count = 0;

  constructor(memoryBytes: number) {
    // While the table grows, the old one is in memory too.
    const slots = Math.floor((memoryBytes * 2) / 3 / fingerprintBytes);
    this.#maxSlots = slots < 2 ? 0 : 2 ** Math.floor(Math.log2(slots));
  }

  has(entry: FileEntry): boolean {
    return this.#table.length > 0 && this.#slotOf(this.#fingerprint(entry)).found;
  }

  add(entry: FileEntry): void {
    if (!this.#hasSpace()) return;
    const fingerprint = this.#fingerprint(entry);
    const { found, at } = this.#slotOf(fingerprint);
    if (found) return;
    fingerprint.copy(this.#table, at, 0, fingerprintBytes);
    this.#count++;
  }

  /** Never all zeros: those stand for an empty slot. */
  #fingerprint({ size, hash, content }: FileEntry): Buffer {
    this.#scratch.reset();
    writeContent(this.#scratch.varint(size).raw(hash), content);
    const fingerprint = sha256(this.#scratch.view()).subarray(0, fingerprintBytes);
    fingerprint[0] = (fingerprint[0] ?? 0) | 1;
    return fingerprint;
  }

  #slotOf(fingerprint: Buffer): { readonly found: boolean; readonly at: number } {
    const slots = this.#table.length / fingerprintBytes;
    for (let slot = fingerprint.readUInt32LE(4) % slots; ; slot = (slot + 1) % slots) {
      const at = slot * fingerprintBytes;
      if (this.#table[at] === 0) return { found: false, at };
      if (this.#table.compare(fingerprint, 0, fingerprintBytes, at, at + fingerprintBytes) === 0)
        return { found: true, at };
    }
  }

  /** Grows the table if it is nearly full. False if there is no space for one more. */
  #hasSpace(): boolean {
    const slots = this.#table.length / fingerprintBytes;
    if (this.#count + 1 <= slots * maxFill) return true;
    const wanted = Math.max(firstSlots, slots * 2);
    if (wanted > this.#maxSlots) return false;
    const old = this.#table;
    this.#table = Buffer.alloc(wanted * fingerprintBytes);
    for (let at = 0; at < old.length; at += fingerprintBytes) {
      if (old[at] === 0) continue;
      const fingerprint = old.subarray(at, at + fingerprintBytes);
      fingerprint.copy(this.#table, this.#slotOf(fingerprint).at);
    }
    return true;
  }
}
