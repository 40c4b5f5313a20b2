/**
 * Times of the HTTP calls of this process, by operation, of all clients in it: Node tells of each call when it is made and when its answer
 * begins. A time has the wait for a connection in it, and the wait for this process's own processor.
 */

import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

export interface Calls {
  /** Milliseconds of each call that was answered, by operation. */
  readonly times: Readonly<Record<string, readonly number[]>>;
  /** Answers from 400 on and lost connections, by operation and status. */
  readonly refused: Readonly<Record<string, number>>;
}

export class CallTimes {
  readonly #begun = new WeakMap<ClientRequest, number>();
  #times = new Map<string, number[]>();
  #refused: Record<string, number> = {};

  constructor() {
    subscribe("http.client.request.created", (message) => {
      this.#begun.set((message as { request: ClientRequest }).request, performance.now());
    });
    subscribe("http.client.response.finish", (message) => {
      const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
      const begun = this.#begun.get(request);
      if (begun === undefined) return;
      const [name, status] = [operationOf(request), response.statusCode ?? 0];
      if (status >= 400) this.#refuse(`${name} ${status}`);
      else this.#times.getOrInsertComputed(name, () => []).push(rounded(performance.now() - begun));
    });
    subscribe("http.client.request.error", (message) => {
      this.#refuse(`${operationOf((message as { request: ClientRequest }).request)} connection lost`);
    });
  }

  /** What was counted since the last time. */
  take(): Calls {
    const taken = { times: Object.fromEntries(this.#times), refused: this.#refused };
    this.#times = new Map();
    this.#refused = {};
    return taken;
  }

  #refuse(what: string): void {
    this.#refused[what] = (this.#refused[what] ?? 0) + 1;
  }
}

/** Method and path, with names of parameters in place of ids and without a query. */
function operationOf({ method, path }: ClientRequest): string {
  const plain = path.replace(/\?.*$/, "").replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "{id}");
  return `${method} ${plain.replace(/\/(packs|files)\/(?!history).+$/, "/$1/{name}")}`;
}

/** Calls that carry content of files. Their time depends on how much it is. */
export function isContent(operation: string): boolean {
  return /\/(packs|files)\/\{name\}$/.test(operation);
}

/** A tenth of a millisecond: what is sent between processes is shorter. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
