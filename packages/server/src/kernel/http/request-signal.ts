/**
 * The end of a request: its deadline passes, or its client goes away. Work asks for {@link EndState}. Node's own signals,
 * their listeners and `AbortSignal.timeout` would cost a short request more than its answer, so an `AbortSignal` is made
 * only for work that asks for one.
 */

import type { ServerResponse } from "node:http";
import { monotonicMs } from "../clock.ts";

/** Whether something has ended, and why; an `AbortSignal` has it too. */
export interface EndState extends Pick<AbortSignal, "aborted" | "reason" | "throwIfAborted"> {
  /** Milliseconds until the deadline, where there is one. */
  leftMs?(): number;
}

export class RequestSignal implements EndState {
  #aborted = false;
  #reason: unknown;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #deadlineMs = 0;
  #endsAtMs = Number.POSITIVE_INFINITY;
  #listeners: Set<() => void> | undefined;

  /** `onClose` is called when the answer was sent or the client has left. */
  constructor(response: ServerResponse, onClose: () => void) {
    // Registered first: a client can leave while the first stages wait, and HTTP/2 emits the event only once.
    response.on("close", () => {
      clearTimeout(this.#timer);
      if (!response.writableFinished) this.#abort(new Error("the client went away"));
      onClose();
    });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Calls the listener once, at once if the request has ended. Returns a function that takes the listener back. */
  onAbort(listener: () => void): () => void {
    if (this.#aborted) {
      listener();
      return nothingToTakeBack;
    }
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Starts the time that the request has. */
  start(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    this.restart();
    this.#lookIn(deadlineMs);
  }

  /** A transfer made progress: the whole time starts anew. */
  restart(): void {
    this.#endsAtMs = monotonicMs() + this.#deadlineMs;
  }

  /** Ends the request for another reason than its deadline and its client. */
  fail(reason: unknown): void {
    this.#abort(reason);
  }

  /** Until {@link restart} the client is waited for, by the rules of the transport. */
  pause(): void {
    this.#endsAtMs = Number.POSITIVE_INFINITY;
  }

  leftMs(): number {
    return this.#endsAtMs - monotonicMs();
  }

  /** One timer per request: it looks at the time that is left when it fires. */
  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const leftMs = this.leftMs();
      if (leftMs > 0) this.#lookIn(Math.min(Math.ceil(leftMs), this.#deadlineMs));
      else this.#abort(new DOMException("the deadline has passed", "TimeoutError"));
    }, ms).unref();
  }

  #abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
    this.#controller?.abort(reason);
  }
}

function nothingToTakeBack(): void {}

/** Whether the signal ended because the client left. */
export function isClientGone(state: EndState): boolean {
  return state.aborted && !missedDeadline(state);
}

/** Whether the signal ended because of its deadline. */
export function missedDeadline({ reason }: EndState): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
