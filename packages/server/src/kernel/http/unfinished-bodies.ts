/**
 * Bodies whose end has not arrived hold memory for as long as their sender likes. They are counted, by the client's
 * address and in all, with the bytes that each may grow to; above a limit a body is not begun. One that has wholly
 * arrived when it is read counts for nothing, and most have.
 */

import { Problem } from "../problems.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** What a request costs beside its body: its objects, its buffers, its share of a connection. */
export const leastWeightBytes = 64 * kibibyte;

/** 256 small bodies at once, or 16 of the largest without a length: more than an office behind one address sends. */
export const unfinishedBytesPerAddress = 16 * mebibyte;

/** A process must survive on a machine with 1 GiB; as much again may wait unread in the transport. */
export const unfinishedBytesInAll = 256 * mebibyte;

/** Seconds; bodies end within their operation's deadline, most of them far sooner. */
const retryAfterSeconds = 5;

export class UnfinishedBodies {
  #inAll = 0;
  readonly #byAddress = new Map<string, number>();

  /**
   * Begins a body that may grow to so many bytes; `address` null counts in all only. Returns what to call at its end.
   * Throws `unavailable`.
   */
  begin(address: string | null, bytes: number): () => void {
    const weight = Math.max(bytes, leastWeightBytes);
    const fromThere = address === null ? 0 : (this.#byAddress.get(address) ?? 0);
    if (fromThere + weight > unfinishedBytesPerAddress || this.#inAll + weight > unfinishedBytesInAll) {
      throw new Problem("unavailable", { headers: { "Retry-After": String(retryAfterSeconds) } });
    }
    this.#add(address, weight);
    return () => this.#add(address, -weight);
  }

  #add(address: string | null, weight: number): void {
    this.#inAll += weight;
    if (address === null) return;
    const sum = (this.#byAddress.get(address) ?? 0) + weight;
    if (sum === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, sum);
  }
}
