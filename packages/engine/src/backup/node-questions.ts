/**
 * Asks the target for tree nodes, many in one call. What is asked for in one turn of the event loop goes into one call. A
 * few calls are in flight at the same time; while they are, further questions collect.
 */

import { maxNodesPerOffer } from "./upload-target.ts";

/** Calls in flight. The nodes of one level of a tree do not depend on each other, so two calls keep the connection busy. */
const maxCalls = 2;

interface Question {
  readonly id: Uint8Array;
  readonly resolve: (ordinal: number | null) => void;
  readonly reject: (error: unknown) => void;
}

export class NodeQuestions {
  readonly #offerNodes: (ids: readonly Uint8Array[]) => Promise<readonly (number | null)[]>;
  readonly #questions: Question[] = [];
  #calls = 0;
  #isScheduled = false;

  constructor(offerNodes: (ids: readonly Uint8Array[]) => Promise<readonly (number | null)[]>) {
    this.#offerNodes = offerNodes;
  }

  /** The ordinal of a stored node, or null. */
  ask(id: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ id, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#calls >= maxCalls || this.#questions.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    const asked = this.#questions.splice(0, maxNodesPerOffer);
    this.#calls++;
    this.#schedule();
    try {
      const answers = await this.#offerNodes(asked.map(({ id }) => id));
      for (const [i, { resolve }] of asked.entries()) resolve(answers[i] ?? null);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    this.#calls--;
    this.#schedule();
  }
}
