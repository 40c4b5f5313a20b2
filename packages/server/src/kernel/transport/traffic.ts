/**
 * All open connections, HTTP/2 sessions and exchanges, and how they are ended.
 *
 * States: *serving* → *draining* (nothing new is accepted, open exchanges finish) → *over* (nothing is open). Draining cannot
 * be undone.
 */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Log } from "../log.ts";
import { Connections } from "./connections.ts";
import { Exchange, type ExchangePair } from "./exchange.ts";
import { Http1Connection } from "./http1-connection.ts";
import { GuardedSession } from "./http2-session.ts";
import type { TransportLimits } from "./limits.ts";
import { type Holding, planCuts } from "./unread-bytes.ts";

export interface TrafficOptions {
  readonly limits: TransportLimits;
  readonly log: Log;
  readonly isExempt: (address: string) => boolean;
}

export class Traffic {
  readonly connections: Connections;
  readonly exchanges = new Set<Exchange>();
  readonly #http1 = new Map<Socket, Http1Connection>();
  readonly #sessions = new Map<ServerHttp2Session, GuardedSession>();
  readonly #limits: TransportLimits;
  readonly #log: Log;
  /** Runs while there are sessions: a service without clients has nothing to check. */
  #sessionCheck: NodeJS.Timeout | undefined;
  /** One timer for all exchanges: one for each would cost a short request as much as its routing. */
  readonly #stalls: NodeJS.Timeout;
  readonly #onQuiet = new Set<() => void>();
  #draining = false;
  sessionsCut = 0;

  constructor(options: TrafficOptions) {
    this.#limits = options.limits;
    this.#log = options.log;
    this.connections = new Connections({ ...options.limits, isExempt: options.isExempt });
    this.#stalls = setInterval(() => this.#cutStalled(), options.limits.responseStallMs).unref();
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  http1Connection(socket: Socket): Http1Connection | undefined {
    return this.#http1.get(socket);
  }

  openHttp1(socket: Socket): void {
    if (socket.destroyed) return;
    this.#http1.set(socket, new Http1Connection(socket, this.#limits));
    socket.once("close", () => {
      this.#http1.delete(socket);
      this.#announceQuiet();
    });
    if (this.#draining) socket.destroy();
  }

  openSession(session: ServerHttp2Session, socket: Socket): void {
    const guarded = new GuardedSession(session, socket, this.#limits, (reason) => {
      this.sessionsCut += 1;
      this.#log.debug("http2_session_cut", { reason, ip: socket.remoteAddress });
    });
    this.#sessions.set(session, guarded);
    this.#sessionCheck ??= setInterval(() => this.#checkSessions(), this.#limits.sessionCheckMs).unref();
    socket.once("close", () => {
      this.#sessions.delete(session);
      this.#announceQuiet();
    });
    if (this.#draining) guarded.close();
  }

  /** Null when the connection is over, or the client has too many open exchanges. */
  openExchange(pair: ExchangePair): Exchange | null {
    if (pair.version === 1 && pair.connection.isOver) return null;
    const exchange: Exchange = new Exchange(pair, this.#limits, () => {
      this.exchanges.delete(exchange);
      if (this.#draining && pair.version === 1) pair.connection.closeWhenIdle();
      this.#announceQuiet();
    });
    this.exchanges.add(exchange);
    if (pair.version === 1 && pair.connection.openRequests > this.#limits.pipelinedRequests) {
      exchange.cut();
      return null;
    }
    if (this.#draining) exchange.closeAfter();
    return exchange;
  }

  /** Lets open exchanges finish until the deadline; returns how many were cut then. */
  async drain(deadlineMs: number): Promise<number> {
    this.#draining = true;
    for (const exchange of this.exchanges) exchange.closeAfter();
    for (const connection of this.#http1.values()) {
      connection.closeWhenIdle();
    }
    for (const session of this.#sessions.values()) session.close();
    await this.#quietWithin(deadlineMs);
    const cut = this.exchanges.size;
    this.connections.destroyAll();
    clearInterval(this.#sessionCheck);
    clearInterval(this.#stalls);
    return cut;
  }

  #isQuiet(): boolean {
    return this.exchanges.size === 0 && this.#http1.size === 0 && this.#sessions.size === 0;
  }

  #announceQuiet(): void {
    if (this.#isQuiet()) for (const listener of this.#onQuiet) listener();
  }

  async #quietWithin(deadlineMs: number): Promise<void> {
    if (this.#isQuiet()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, deadlineMs);
    this.#onQuiet.add(resolve);
    await promise;
    this.#onQuiet.delete(resolve);
    clearTimeout(timer);
  }

  #cutStalled(): void {
    for (const exchange of this.exchanges) exchange.cutIfStalled();
  }

  #checkSessions(): void {
    if (this.#sessions.size === 0) {
      clearInterval(this.#sessionCheck);
      this.#sessionCheck = undefined;
    }
    for (const session of this.#sessions.values()) session.releaseSocketIfDestroyed();
    for (const session of planCuts(this.#holdings(), this.#limits.unreadBytes)) session.cut("unread_bytes");
  }

  #holdings(): Holding<GuardedSession>[] {
    const held = new Map<GuardedSession, number>();
    for (const { pair, unreadBytes } of this.exchanges) {
      const session = pair.version === 2 ? pair.request.stream.session : undefined;
      const guarded = session === undefined ? undefined : this.#sessions.get(session as ServerHttp2Session);
      if (guarded !== undefined) held.set(guarded, (held.get(guarded) ?? 0) + unreadBytes);
    }
    return [...held].map(([session, bytes]) => ({ session, bytes }));
  }
}
