/**
 * Lines between programs and their servers, in a thread of their own: one proxy for all, so that all pay the same for it. It counts bytes and
 * delays them. Its own CPU time is in no program's figures.
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface LineCounts {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface Line {
  /** Where clients connect to. */
  readonly port: number;
  counts(): Promise<LineCounts>;
  /** The time of a round trip from now on. */
  setRoundTrip(ms: number): Promise<void>;
}

export type LineRequest =
  | { readonly kind: "open"; readonly to: number }
  | { readonly kind: "counts"; readonly port: number }
  | { readonly kind: "delay"; readonly port: number; readonly delayMs: number };
export type LineAnswer = LineCounts & { readonly port: number };

export class Lines {
  readonly #worker = new Worker(new URL("./lines-worker.ts", import.meta.url));
  #last: Promise<unknown> = Promise.resolve();

  /** A line to a port on this machine, without delay. */
  async open(to: number): Promise<Line> {
    const { port } = await this.#ask({ kind: "open", to });
    return {
      port,
      counts: () => this.#ask({ kind: "counts", port }),
      setRoundTrip: async (ms) => {
        await this.#ask({ kind: "delay", port, delayMs: ms / 2 });
      },
    };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  /** One question at a time. */
  #ask(request: LineRequest): Promise<LineAnswer> {
    const answer = this.#last.then(async () => {
      this.#worker.postMessage(request);
      const [message] = (await once(this.#worker, "message")) as [LineAnswer];
      return message;
    });
    this.#last = answer;
    return answer;
  }
}
