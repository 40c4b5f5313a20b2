/**
 * One HTTP/1.1 connection: what Node's server does not track.
 *
 * Why it exists: closing a socket on which the client is still sending makes the operating system answer with a
 * reset, and the client loses the answer it was about to read. So a connection that ends while a body (or a flood of
 * headers) is still coming *lingers*: our side is ended, what still arrives is discarded within bounds, then it is
 * destroyed.
 *
 * States: *open*; *lingering* (nothing is served any more); *destroyed*. Also open, but watched, is a connection
 * whose body goes on after the answer without having to close: it has the same bounds to come to the body's end.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TrackedHttp1Request } from "./request-body.ts";

export interface LingerRule {
  readonly lingerMs: number;
  readonly lingerBytes: number;
}

/** How many times within `lingerMs` the bytes are counted. */
const lingerChecks = 50;

export class Http1Connection {
  readonly socket: Socket;
  readonly #rule: LingerRule;
  #latest: TrackedHttp1Request | null = null;
  #lingering = false;
  #watch: NodeJS.Timeout | null = null;
  /** Answers begun and not finished. */
  readonly #open = new Set<ServerResponse>();

  constructor(socket: Socket, rule: LingerRule) {
    this.socket = socket;
    this.#rule = rule;
    // What Node's server calls after an answer with `Connection: close`.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => (this.#isBodyComing() ? this.linger() : destroySoon());
    socket.once("close", () => this.#unwatch());
  }

  /** True when nothing that arrives is to be served any more. */
  get isOver(): boolean {
    return this.#lingering || this.socket.destroyed;
  }

  get openRequests(): number {
    return this.#open.size;
  }

  /** Whether part of an answer has been written: then nothing else may be written in its place. */
  get isAnswering(): boolean {
    return [...this.#open].some((response) => response.headersSent);
  }

  begin(request: TrackedHttp1Request, response: ServerResponse): void {
    this.#latest = request;
    this.#open.add(response);
  }

  /** The answer was sent or given up. */
  finish(response: ServerResponse): void {
    this.#open.delete(response);
    if (this.isOver || !this.#isBodyComing()) return;
    if (this.#latest?.destroyed) this.linger();
    else this.#waitForBodyEnd();
  }

  /** Ends the connection unless requests are open; then their answers end it. */
  closeWhenIdle(): void {
    if (this.openRequests === 0 && !this.isOver) this.socket.destroySoon();
  }

  /** Ends our side after these bytes, and discards what still arrives. */
  linger(bytes?: string): void {
    if (this.isOver) return;
    this.#lingering = true;
    this.socket.once("end", () => this.socket.destroy());
    if (bytes === undefined) this.socket.end();
    else this.socket.end(bytes);
    this.#discardBody();
    this.#watchBytes(() => true);
  }

  #waitForBodyEnd(): void {
    this.#discardBody();
    this.#watchBytes(() => this.#isBodyComing());
  }

  /** What the application has not read goes. A reader that it left would keep the body from flowing: the connection would hang until it is cut. */
  #discardBody(): void {
    this.#latest?.removeAllListeners("readable");
    this.#latest?.resume();
  }

  #isBodyComing(): boolean {
    return this.#latest !== null && !this.#latest.complete;
  }

  #watchBytes(isNeeded: () => boolean): void {
    this.#unwatch();
    const bytesMax = this.socket.bytesRead + this.#rule.lingerBytes;
    let checks = 0;
    const check = (): void => {
      checks += 1;
      if (!isNeeded()) this.#unwatch();
      else if (checks >= lingerChecks || this.socket.bytesRead > bytesMax) this.socket.destroy();
    };
    this.#watch = setInterval(check, Math.max(1, this.#rule.lingerMs / lingerChecks)).unref();
  }

  #unwatch(): void {
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }
}
