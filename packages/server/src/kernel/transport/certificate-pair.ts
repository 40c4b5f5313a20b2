/**
 * The server's certificate: where it comes from and how it changes while the service runs.
 *
 * Two sources, one interface ({@link Certificates}):
 * - the *local authority* in `<data>/tls`: a root (`ca.pem`, `ca.key`) made once, and a leaf (`server.pem`,
 *   `server.key`) signed by it. See `local-authority.ts`.
 * - the operator's *own* files, read again on request. See `own-certificate.ts`.
 *
 * Invariants: a pair in use is always one that matched, parsed and was valid when it was taken; whatever goes wrong
 * later, the pair in use stays. Whether a certificate is valid is decided by the clock that is passed in. It should be
 * the real one even where the application's clock can be moved, because clients check with theirs.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** A certificate chain (leaf first) and its private key, both PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** The source of the server's certificate. */
export interface Certificates {
  /** The pair in use. */
  current(): CertificatePair;
  /** The file that clients trust (`<data>/tls/ca.pem`); null with an own certificate. */
  readonly caFile: string | null;
  /** Own certificate: reads both files again. Local authority: renews what is due. Never rejects. */
  reload(): Promise<ReloadOutcome>;
  /** Called with each new pair; returns a function that ends this. */
  onChange(listener: (pair: CertificatePair) => void): () => void;
  /** Ends the periodic check. */
  stop(): void;
}

/** Result of `reload()`: after a failure the pair in use stays. */
export type ReloadOutcome =
  | { readonly kind: "changed" }
  | { readonly kind: "unchanged" }
  | { readonly kind: "failed"; readonly error: CertificateError };

export type CertificateErrorCode =
  | "bad_name"
  | "expired"
  | "key_mismatch"
  | "malformed"
  | "not_yet_valid"
  | "unreadable"
  | "unwritable";

/** Why a certificate cannot be used; `message` is for the operator, names the file and says what to do. */
export class CertificateError extends Error {
  readonly code: CertificateErrorCode;

  constructor(code: CertificateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CertificateError";
    this.code = code;
  }
}

/** Where a pair was read from; only for messages. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Throws a {@link CertificateError} unless a server can use the pair at this moment. */
export function assertUsable(pair: CertificatePair, files: PairFiles, now: Date): void {
  const certificate = parseCertificate(pair.cert, files.certFile);
  const key = parseKey(pair.key, files.keyFile);
  if (!certificate.checkPrivateKey(key)) {
    const message = `The key ${files.keyFile} does not belong to the certificate ${files.certFile}.`;
    throw new CertificateError("key_mismatch", message);
  }
  assertValidAt(certificate, files.certFile, now);
  try {
    // Finds what only TLS asks for: a broken chain behind the leaf, a key that is too short.
    createSecureContext({ cert: pair.cert, key: pair.key });
  } catch (cause) {
    throw new CertificateError("malformed", `The certificate ${files.certFile} cannot be used for TLS.`, { cause });
  }
}

/** Parses the first certificate of a PEM file. */
export function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new CertificateError("malformed", `${file} does not hold a certificate in PEM form.`, { cause });
  }
}

/** Parses a PEM private key without a pass phrase. */
export function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const message = `${file} does not hold a private key in PEM form without a pass phrase.`;
    throw new CertificateError("malformed", message, { cause });
  }
}

function assertValidAt(certificate: X509Certificate, file: string, now: Date): void {
  if (certificate.validToDate <= now) {
    const message = `The certificate ${file} ended on ${certificate.validToDate.toISOString()}. Put a new one there.`;
    throw new CertificateError("expired", message);
  }
  if (certificate.validFromDate > now) {
    const start = certificate.validFromDate.toISOString();
    const message = `The certificate ${file} is valid from ${start} on. Check the clock of this machine.`;
    throw new CertificateError("not_yet_valid", message);
  }
}
