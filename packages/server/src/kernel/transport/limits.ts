/**
 * Every bound of the transport, each with its unit and its reason. Tests pass smaller ones; nothing else does.
 * Times here are real elapsed times: they are kept by timers, never by the application's clock, because moving that
 * clock (profile `sandbox`) must not cut connections.
 */

export interface TransportLimits {
  /** From the TCP connection to the end of the TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** HTTP/1.1: from the first moment of a request to the end of its header. HTTP/2: from the connection to the first request. */
  readonly headersTimeoutMs: number;
  /** While the application waits for body bytes, `bodyWindowBytes` must arrive (or the body end) in each window. */
  readonly bodyWindowMs: number;
  readonly bodyWindowBytes: number;
  /** A response with unsent bytes that the client does not take for so long is cut. */
  readonly responseStallMs: number;
  /** HTTP/1.1: idle time between two requests. */
  readonly keepAliveMs: number;
  /** HTTP/2: idle time of a session without open streams. */
  readonly sessionIdleMs: number;
  /** After an answer to a request whose body was not read: how long, and how much, is read and thrown away. */
  readonly lingerMs: number;
  readonly lingerBytes: number;
  /** Names and values of one request's header together. */
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** HTTP/1.1 requests begun and not answered on one connection. */
  readonly pipelinedRequests: number;
  /** HTTP/2 requests at the same time in one session. */
  readonly concurrentStreams: number;
  /** HTTP/2 resets a client may send at once, and then per second (CVE-2023-44487). */
  readonly streamResetBurst: number;
  readonly streamResetsPerSecond: number;
  /** HTTP/2 SETTINGS and PING frames accepted within `controlWindowMs`. */
  readonly settingsPerWindow: number;
  readonly pingsPerWindow: number;
  readonly controlWindowMs: number;
  /** Request body bytes received and not yet read by the application, over all HTTP/2 sessions. */
  readonly unreadBytes: number;
  /** How often the sessions are checked. */
  readonly sessionCheckMs: number;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

export const defaultTransportLimits: TransportLimits = Object.freeze({
  /** A handshake takes two round trips; ten seconds is far beyond the worst mobile link. */
  handshakeTimeoutMs: 10_000,
  /** Headers are a few kilobytes sent at once; slower is an attack that holds sockets (slowloris). */
  headersTimeoutMs: 15_000,
  /** Uploads may take hours, so only progress is asked for: 34 bytes a second is slower than any link in use. */
  bodyWindowMs: 30_000,
  bodyWindowBytes: kibibyte,
  /** Twice the longest pause seen in TCP retransmission before a link counts as dead. */
  responseStallMs: 120_000,
  /** Longer than the 60 s after which load balancers drop idle connections, so that they and not we close first. */
  keepAliveMs: 72_000,
  /** An agent's session should survive the pause between two files of a backup run. */
  sessionIdleMs: 120_000,
  /** Long enough for a client to see the refusal and stop; short enough that a refused upload costs little. */
  lingerMs: 5_000,
  lingerBytes: 16 * mebibyte,
  /** A path of 4096 bytes percent-encoded is 12 KiB; with tokens and cookies that is half of this. */
  headerBytes: 32 * kibibyte,
  headerCount: 100,
  /** Below the usual limit of 65 536 open files, so that object storage and the database can open theirs. */
  connections: 10_000,
  /** A large office behind one address. Trusted proxies are exempt. */
  connectionsPerAddress: 512,
  /** No client in use pipelines; a few tens allow a test tool. */
  pipelinedRequests: 32,
  /** The least that RFC 9113 recommends. */
  concurrentStreams: 100,
  /** A person who cancels a page of parallel downloads resets at most `concurrentStreams` at once. */
  streamResetBurst: 400,
  streamResetsPerSecond: 33,
  /** Clients send SETTINGS once or twice per session, and a PING every few seconds. */
  settingsPerWindow: 64,
  pingsPerWindow: 512,
  controlWindowMs: 10_000,
  /** Each stream is granted a window of 4 MiB; an agent uses 16 at once. All sessions together must spare the process. */
  unreadBytes: 256 * mebibyte,
  /** At 1 GB/s the unread bytes can be over their limit by as much again. */
  sessionCheckMs: 250,
});
