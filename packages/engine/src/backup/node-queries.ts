/**
 * Queries the target for tree nodes, many in one call: all queries of one turn of the event loop. A few calls are in
 * flight at the same time. Queries that come meanwhile wait for the next call.
 */

import { maxNodesPerOffer } from "./upload-target.ts";

/** Calls in flight. The nodes of one level of a tree do not depend on each other, so two calls keep the connection busy. */
const maxCalls = 2;

interface WaitingQuery {
  readonly id: Uint8Array;
  readonly resolve: (ordinal: number | null) => void;
  readonly reject: (error: unknown) => void;
}

export class NodeQueries {
  readonly #offerNodes: (ids: readonly Uint8Array[]) => Promise<readonly (number | null)[]>;
  readonly #waiting: WaitingQuery[] = [];
  #calls = 0;
  #isScheduled = false;

  constructor(offerNodes: (ids: readonly Uint8Array[]) => Promise<readonly (number | null)[]>) {
    this.#offerNodes = offerNodes;
  }

  /** The ordinal of a stored node, or null. */
  find(id: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#calls >= maxCalls || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    const sent = this.#waiting.splice(0, maxNodesPerOffer);
    this.#calls++;
    this.#schedule();
    try {
      const answers = await this.#offerNodes(sent.map(({ id }) => id));
      for (const [i, { resolve }] of sent.entries()) resolve(answers[i] ?? null);
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
    this.#calls--;
    this.#schedule();
  }
}
