/**
 * What Node's servers are created with. Options that Node 26 or nghttp2 1.70 already set well are left alone and named
 * in a comment, so that a reader finds each known attack here.
 */

import { constants as cryptoConstants } from "node:crypto";
import type { ServerOptions as HttpServerOptions, ServerResponse } from "node:http";
import type { SecureServerOptions } from "node:http2";
import type { SecureContextOptions } from "node:tls";
import type { CertificatePair } from "./certificate-pair.ts";
import type { TransportLimits } from "./limits.ts";
import { TrackedHttp1Request, TrackedHttp2Request } from "./request-body.ts";

/** Mozilla's "intermediate" list without its finite-field suites: forward secrecy and authenticated encryption only. */
const ciphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** Flow control of one stream: at 50 ms round trip still 80 MB/s, where the default of 64 KiB allows 1.3. */
const streamWindowBytes = 4 * 1024 * 1024;

/** Larger frames save work per byte; far below the window, so that streams take turns. */
const frameBytes = 256 * 1024;

/** A field costs 32 bytes more than its text in the sum of RFC 9113, section 6.5.2. */
const fieldOverheadBytes = 32;

/** `:method`, `:scheme`, `:authority`, `:path`. */
const pseudoHeaderCount = 4;

/** A few mistakes are forgiven, a stream of them is not. Node's default is 1000. */
const invalidFramesMax = 100;

/** SETTINGS entries in one frame; six are defined. */
const settingsEntriesMax = 32;

/** Per session: header tables, and answers waiting for the client; above it new streams are refused. Node's default is 10. */
const sessionMemoryMb = 32;

/** Looks for late headers this many times within their time. */
const checksPerHeadersTimeout = 15;

/** Certificate and protocol of TLS; to be given whole each time the certificate changes. */
export function secureContext(pair: CertificatePair): SecureContextOptions {
  return {
    cert: pair.cert,
    key: pair.key,
    minVersion: "TLSv1.2",
    ciphers,
    // Clients without AES hardware prefer ChaCha20; they know best.
    honorCipherOrder: false,
    // TLS 1.2 lets a client ask for handshake after handshake.
    secureOptions: cryptoConstants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** HTTP/1.1, the same behind a proxy and as the fallback of HTTP/2. */
export function http1Options(limits: TransportLimits): HttpServerOptions<typeof TrackedHttp1Request> {
  return {
    IncomingMessage: TrackedHttp1Request,
    // Whatever flags the process was started with. Refuses Content-Length beside Transfer-Encoding, among others.
    httpValidation: "strict",
    // Checked by `headProblem`, which can say so in a problem body.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: Math.max(1, Math.floor(limits.headersTimeoutMs / checksPerHeadersTimeout)),
    // A whole upload may take hours; see `BodyProgress`.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
  };
}

type Http2Options = SecureServerOptions<typeof TrackedHttp1Request, typeof ServerResponse, typeof TrackedHttp2Request>;

/** HTTP/2 with HTTP/1.1 as the fallback, by ALPN. */
export function http2Options(pair: CertificatePair, limits: TransportLimits): Http2Options {
  return {
    ...secureContext(pair),
    allowHTTP1: true,
    handshakeTimeout: limits.handshakeTimeoutMs,
    http1Options: http1Options(limits),
    Http2ServerRequest: TrackedHttp2Request,
    settings: {
      initialWindowSize: streamWindowBytes,
      maxFrameSize: frameBytes,
      maxConcurrentStreams: limits.concurrentStreams,
      maxHeaderListSize: limits.headerBytes + fieldOverheadBytes * limits.headerCount,
      enablePush: false,
      // No WebSockets over HTTP/2 (RFC 8441).
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: limits.headerCount + pseudoHeaderCount,
    maxSettings: settingsEntriesMax,
    maxSessionMemory: sessionMemoryMb,
    maxSessionInvalidFrames: invalidFramesMax,
    maxSessionRejectedStreams: limits.concurrentStreams,
    // CVE-2023-44487. Resets that a client provokes (CVE-2025-8671) are counted by nghttp2 itself, as is the number
    // of CONTINUATION frames in one header block (8; CVE-2024-28182).
    streamResetBurst: limits.streamResetBurst,
    streamResetRate: limits.streamResetsPerSecond,
  };
}
