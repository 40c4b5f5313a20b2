/**
 * One HTTP/2 session, with limits against abuse.
 *
 * nghttp2 and Node bound by themselves what a header block may hold, how many CONTINUATION frames it may have, how
 * many streams run at once and how fast they may be reset; see `http2Options` in `server-options.ts`. Added here:
 * - *idleness*: a session without open streams ends after a while, a new one without any request sooner. An
 *   unfinished header block opens no stream, so it ends the same way, however slowly its bytes keep coming.
 * - *control frames*: SETTINGS and PING are answered one by one and cost the peer nothing; above a rate they end the
 *   session.
 */

import type { ServerHttp2Session } from "node:http2";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { monotonicMs } from "../clock.ts";
import type { TransportLimits } from "./limits.ts";

/** Flow control of a whole session; with the window of a stream it takes an upload from 2.1 to 1.4 s per GiB here. */
const sessionWindowBytes = 16 * 1024 * 1024;

export class GuardedSession {
  readonly session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #limits: TransportLimits;
  readonly #onCut: (reason: string) => void;
  #openStreams = 0;
  #idle: NodeJS.Timeout | null = null;
  #farewell: NodeJS.Timeout | null = null;

  constructor(session: ServerHttp2Session, socket: Socket, limits: TransportLimits, onCut: (reason: string) => void) {
    this.session = session;
    this.#socket = socket;
    this.#limits = limits;
    this.#onCut = onCut;
    session.setLocalWindowSize(sessionWindowBytes);
    session.on("stream", (stream) => {
      this.#streamOpened();
      stream.once("close", () => this.#streamClosed());
    });
    session.on("ping", this.#counter(limits.pingsPerWindow, "ping_flood"));
    session.on("remoteSettings", this.#counter(limits.settingsPerWindow, "settings_flood"));
    socket.once("close", () => this.#clearTimers());
    this.#armIdle(limits.headersTimeoutMs);
  }

  /** Tells the client to open no more streams; ends when the open ones have. */
  close(): void {
    this.session.close();
    if (this.#openStreams === 0) this.#destroySocketLater();
  }

  /** Ends the session at once because its client breaks a limit. */
  cut(reason: string): void {
    if (this.session.destroyed) return;
    this.#onCut(reason);
    this.#destroy(new Error(reason));
  }

  #destroy(error?: Error): void {
    if (error === undefined) this.session.destroy();
    else this.session.destroy(error, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#destroySocketLater();
  }

  /**
   * Call it from time to time: a session that nghttp2 gives up while a write is under way, and whose client has left,
   * is destroyed without an event and keeps its socket for good (seen with Node 26.10).
   */
  releaseSocketIfDestroyed(): void {
    if (this.session.destroyed) this.#destroySocketLater();
  }

  #streamOpened(): void {
    this.#openStreams += 1;
    this.#clearIdle();
  }

  #streamClosed(): void {
    this.#openStreams -= 1;
    if (this.#openStreams > 0 || this.session.destroyed) return;
    if (this.session.closed) this.#destroySocketLater();
    else this.#armIdle(this.#limits.sessionIdleMs);
  }

  #armIdle(afterMs: number): void {
    this.#clearIdle();
    // Not `close`: that would wait for the end of a header block which may never come.
    this.#idle = setTimeout(() => this.#destroy(), afterMs).unref();
  }

  #clearIdle(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
  }

  #clearTimers(): void {
    this.#clearIdle();
    if (this.#farewell !== null) clearTimeout(this.#farewell);
  }

  /** A peer that does not read leaves GOAWAY in our buffers. The socket is destroyed nevertheless. */
  #destroySocketLater(): void {
    if (this.#socket.destroyed || this.#farewell !== null) return;
    this.#farewell = setTimeout(() => this.#socket.destroy(), this.#limits.lingerMs).unref();
  }

  #counter(most: number, reason: string): () => void {
    let windowStart = monotonicMs();
    let count = 0;
    return () => {
      const now = monotonicMs();
      if (now - windowStart > this.#limits.controlWindowMs) {
        windowStart = now;
        count = 0;
      }
      count += 1;
      if (count > most) this.cut(reason);
    };
  }
}
