/** The operator's own certificate: two PEM files, read at the start and again on request. */

import { readFile } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { assertUsable, CertificateError, type CertificatePair, type Certificates } from "./certificate-pair.ts";
import { keepCurrent } from "./current-pair.ts";

export interface OwnCertificateOptions {
  /** The chain, leaf first (`EMANET_TLS_CERT`). */
  readonly certFile: string;
  /** `EMANET_TLS_KEY`. */
  readonly keyFile: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads the operator's certificate. Rejects with a {@link CertificateError} when it cannot be used. */
export async function openOwnCertificate(options: OwnCertificateOptions): Promise<Certificates> {
  const fetch = async (): Promise<CertificatePair> => {
    const pair = { cert: await read(options.certFile), key: await read(options.keyFile) };
    assertUsable(pair, options, options.clock.now());
    return pair;
  };
  // Read again only on SIGHUP: at any other moment the operator may have replaced only one of the two files.
  return keepCurrent({ first: await fetch(), caFile: null, fetch, log: options.log, checkEveryMs: null });
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
    throw new CertificateError("unreadable", `${file} cannot be read${code}.`, { cause });
  }
}
