/**
 * Bytes in flight: what requests that carry content may hold in memory at once, by account and in all. A transfer counts from
 * its first stage to its last byte, with the bytes it can hold: never more than the service buffers of one, however large it
 * is. So slow clients of one account cannot take the places of others.
 */

import { Problem } from "../problems.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** What a request costs beside its content: its objects, its buffers, its share of a connection. */
export const leastTransferBytes = 64 * kibibyte;

/** What the service collects of one transfer before it writes it on. */
export const mostTransferBytes = mebibyte;

/** 32 large transfers at once, or 512 small ones: twice what an agent opens. */
export const transferBytesPerAccount = 32 * mebibyte;

/** As much as may wait unread in the transport; eight accounts at their own limit. */
export const transferBytesInAll = 256 * mebibyte;

/** Seconds; among many transfers one ends soon. */
export const retryTransferSeconds = 2;

export class Transfers {
  #inAll = 0;
  readonly #bySubject = new Map<string, number>();

  /**
   * Begins a transfer of so many bytes; null: the client did not say how many. `subject` is the account, or the client's
   * address if the request has no token. The caller calls the returned function when the transfer ends. Throws
   * `rate_limited` or `unavailable`.
   */
  begin(subject: string, bytes: number | null): () => void {
    const weight = Math.min(Math.max(bytes ?? mostTransferBytes, leastTransferBytes), mostTransferBytes);
    const own = this.#bySubject.get(subject) ?? 0;
    const headers = { "Retry-After": String(retryTransferSeconds) };
    if (own + weight > transferBytesPerAccount) {
      throw new Problem("rate_limited", { headers, members: transferPolicy });
    }
    if (this.#inAll + weight > transferBytesInAll) throw new Problem("unavailable", { headers });
    this.#add(subject, weight);
    let isOver = false;
    return () => {
      if (!isOver) this.#add(subject, -weight);
      isOver = true;
    };
  }

  /** Bytes of all transfers, for metrics. */
  get bytes(): number {
    return this.#inAll;
  }

  #add(subject: string, weight: number): void {
    this.#inAll += weight;
    const sum = (this.#bySubject.get(subject) ?? 0) + weight;
    if (sum === 0) this.#bySubject.delete(subject);
    else this.#bySubject.set(subject, sum);
  }
}

/** How a refusal names this bound. It is not counted over a window of time, so the shortest one stands there. */
const transferPolicy = {
  policy: "bytes_in_flight",
  limit: transferBytesPerAccount,
  window: 1,
  retry_after: retryTransferSeconds,
};
