/**
 * The certificate in use and the listeners for its changes. Shared by both sources of certificates.
 *
 * Reloads are run one after the other: a periodic check and a SIGHUP at the same moment must not issue twice.
 */

import type { Log } from "../log.ts";
import { CertificateError, type CertificatePair, type Certificates, type ReloadOutcome } from "./certificate-pair.ts";

export interface PairSource {
  readonly first: CertificatePair;
  readonly caFile: string | null;
  /** Returns the pair that should be in use; rejects when the current one has to stay. */
  readonly fetch: () => Promise<CertificatePair>;
  readonly log: Log;
  /** How often `fetch` is called on a schedule; null for never. */
  readonly checkEveryMs: number | null;
}

/** Keeps the pair of a source current. */
export function keepCurrent(source: PairSource): Certificates {
  let pair = source.first;
  let queue: Promise<unknown> = Promise.resolve();
  const listeners = new Set<(pair: CertificatePair) => void>();

  const reloadNow = async (): Promise<ReloadOutcome> => {
    try {
      const next = await source.fetch();
      if (next.cert === pair.cert && next.key === pair.key) return { kind: "unchanged" };
      pair = next;
      for (const listener of listeners) listener(next);
      source.log.info("tls_certificate_changed");
      return { kind: "changed" };
    } catch (cause) {
      const error = asCertificateError(cause);
      source.log.error("tls_certificate_kept", { error_code: error.code });
      return { kind: "failed", error };
    }
  };
  const reload = (): Promise<ReloadOutcome> => {
    const outcome = queue.then(reloadNow);
    queue = outcome;
    return outcome;
  };
  const timer = source.checkEveryMs === null ? undefined : setInterval(() => void reload(), source.checkEveryMs);
  timer?.unref();

  return {
    current: () => pair,
    caFile: source.caFile,
    reload,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => clearInterval(timer),
  };
}

function asCertificateError(cause: unknown): CertificateError {
  if (cause instanceof CertificateError) return cause;
  return new CertificateError("malformed", "The certificate could not be renewed or read.", { cause });
}
