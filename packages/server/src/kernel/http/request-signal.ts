/**
 * The end of a request: one signal for its deadline and for a client that goes away. Node's own `AbortSignal.any` and
 * `AbortSignal.timeout` would cost a short request more than its answer.
 */

import type { ServerResponse } from "node:http";

export class RequestSignal {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    // Registered first: a client can leave while the first stages wait, and HTTP/2 emits the event only once.
    response.once("close", () => {
      clearTimeout(this.#timer);
      if (!response.writableFinished) this.#controller.abort(new Error("the client went away"));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time that the request has. */
  start(deadlineMs: number): void {
    const late = () => this.#controller.abort(new DOMException("the deadline has passed", "TimeoutError"));
    this.#timer = setTimeout(late, deadlineMs).unref();
  }
}

/** Whether the signal ended because of its deadline. */
export function missedDeadline({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
