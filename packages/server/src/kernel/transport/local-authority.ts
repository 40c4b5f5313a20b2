/**
 * The local certificate authority in `<data>/tls`: what makes HTTPS work on a first start without asking anybody.
 *
 * Files: `ca.pem` (what clients trust), `ca.key`, `server.pem`, `server.key`; the folder is 0700, the keys are 0600.
 * A key is always on disk before its certificate, so a crash in between leaves a key without certificate, never a
 * certificate without its key.
 *
 * States of the root, by what is on disk:
 * - nothing → made; key alone → its certificate is made; both → used, after a check that they belong together;
 * - certificate alone, or something unreadable → refused, because a new root would silently lock out every client
 *   that trusts the old one; the operator decides.
 * - less than {@link authorityRenewalMs} left → issued again with the same key and name.
 * The leaf may be replaced at any time: it is issued again when it is missing, damaged, not signed by the root, made
 * for other names, or has less than {@link leafRenewalMs} left.
 */

import type { X509Certificate } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import path from "node:path";
import { domainToASCII } from "node:url";
import ipaddr from "ipaddr.js";
import type { Clock, Random } from "../clock.ts";
import { replaceFile } from "../durable-file.ts";
import type { Log } from "../log.ts";
import {
  assertUsable,
  CertificateError,
  type CertificatePair,
  type Certificates,
  type PairFiles,
  parseCertificate,
  parseKey,
} from "./certificate-pair.ts";
import { keepCurrent } from "./current-pair.ts";

const dayMs = 86_400_000;

/** Two years in which clients can fetch the new root before the one they trust ends. */
const authorityRenewalMs = 730 * dayMs;

/** A service that is started once a month still renews in time. */
const leafRenewalMs = 45 * dayMs;

/** A look at two dates; hourly keeps up with a clock that was put right. */
const defaultCheckEveryMs = 3_600_000;

/** Names that every local certificate carries. */
const ownNames = ["localhost", "127.0.0.1", "::1"] as const;

/** Browsers stop reading long before; a certificate must fit into the handshake. */
const namesMax = 100;

export interface LocalAuthorityOptions {
  /** `<data>/tls`; made with mode 0700. */
  readonly folder: string;
  /** Further host names or addresses beside localhost, 127.0.0.1 and ::1. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How often a running service looks whether a renewal is due. */
  readonly checkEveryMs?: number;
}

/** Opens (or makes) the local authority and the server's certificate. Rejects with a {@link CertificateError}. */
export async function openLocalAuthority(options: LocalAuthorityOptions): Promise<Certificates> {
  const names = certificateNames(options.names);
  const files = filesIn(options.folder);
  await makeFolder(options.folder);
  const fetch = async (): Promise<CertificatePair> => {
    const authority = await currentAuthority(files.authority, options);
    return currentLeaf(files.leaf, authority, names, options);
  };
  return keepCurrent({
    first: await fetch(),
    caFile: files.authority.certFile,
    fetch,
    log: options.log,
    checkEveryMs: options.checkEveryMs ?? defaultCheckEveryMs,
  });
}

/** Canonical, without repetitions: lower-case ASCII host names, addresses in their usual spelling. */
function certificateNames(names: readonly string[]): readonly string[] {
  const all = [...new Set([...ownNames, ...names].map(canonicalName))];
  if (all.length > namesMax) throw new CertificateError("bad_name", `A certificate can carry ${namesMax} names.`);
  return all;
}

function canonicalName(name: string): string {
  const bare = name.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) !== 0) return ipaddr.parse(bare).toString();
  const wildcard = name.startsWith("*.");
  const host = domainToASCII(wildcard ? name.slice(2) : name).toLowerCase();
  const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
  if (host.length > 253 || !host.split(".").every((part) => label.test(part)) || isIP(host) !== 0) {
    throw new CertificateError("bad_name", `"${name}" is neither a host name nor an address (EMANET_TLS_NAMES).`);
  }
  return wildcard ? `*.${host}` : host;
}

function filesIn(folder: string): { readonly authority: PairFiles; readonly leaf: PairFiles } {
  const file = (name: string): string => path.join(folder, name);
  return {
    authority: { certFile: file("ca.pem"), keyFile: file("ca.key") },
    leaf: { certFile: file("server.pem"), keyFile: file("server.key") },
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new CertificateError("unwritable", `The folder ${folder} cannot be made.`, { cause });
  }
}

async function currentAuthority(files: PairFiles, options: LocalAuthorityOptions): Promise<CertificatePair> {
  const now = options.clock.now();
  const [cert, key] = await Promise.all([read(files.certFile), read(files.keyFile)]);
  if (key === null) {
    if (cert !== null) throw lostAuthorityKey(files);
    const { issueAuthority } = await import("./issue.ts");
    return write(files, await issueAuthority(now, options.random));
  }
  assertAuthorityKey(key, files.keyFile);
  if (cert !== null && isSoundAuthority(cert, key, files, now)) return { cert, key };
  const { issueAuthority } = await import("./issue.ts");
  options.log.info("tls_authority_renewed");
  return write(files, await issueAuthority(now, options.random, key));
}

function lostAuthorityKey(files: PairFiles): CertificateError {
  return new CertificateError(
    "unreadable",
    `${files.certFile} is there, but its key ${files.keyFile} is not. Put the key back, or delete both files; ` +
      "clients then have to trust the new authority.",
  );
}

/** Our key is always P-256. Any other key was placed by the operator, so it is not replaced. */
function assertAuthorityKey(key: string, file: string): void {
  if (parseKey(key, file).asymmetricKeyDetails?.namedCurve === "prime256v1") return;
  throw new CertificateError("malformed", `${file} is not a key that this service made (ECDSA P-256).`);
}

/** False when it has to be renewed; throws when it is not what belongs there. */
function isSoundAuthority(cert: string, key: string, files: PairFiles, now: Date): boolean {
  const certificate = parseCertificate(cert, files.certFile);
  if (!certificate.checkPrivateKey(parseKey(key, files.keyFile))) {
    const message = `The key ${files.keyFile} does not belong to ${files.certFile}. Put the right one back, or delete both.`;
    throw new CertificateError("key_mismatch", message);
  }
  return lasts(certificate, authorityRenewalMs, now);
}

async function currentLeaf(
  files: PairFiles,
  authority: CertificatePair,
  names: readonly string[],
  options: LocalAuthorityOptions,
): Promise<CertificatePair> {
  const now = options.clock.now();
  const [cert, key] = await Promise.all([read(files.certFile), read(files.keyFile)]);
  if (cert !== null && key !== null && isSoundLeaf({ cert, key }, files, authority, names, now)) return { cert, key };
  const { issueLeaf } = await import("./issue.ts");
  const pair = await issueLeaf(authority, names, now, options.random);
  assertUsable(pair, files, now);
  options.log.info("tls_certificate_issued");
  return write(files, pair);
}

function isSoundLeaf(
  pair: CertificatePair,
  files: PairFiles,
  authority: CertificatePair,
  names: readonly string[],
  now: Date,
): boolean {
  try {
    assertUsable(pair, files, now);
    const certificate = parseCertificate(pair.cert, files.certFile);
    const issuer = parseCertificate(authority.cert, files.certFile);
    return (
      lasts(certificate, leafRenewalMs, now) &&
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey) &&
      sameNames(certificate, names)
    );
  } catch (error) {
    // Whatever is wrong with it, a new one is the cure.
    if (error instanceof CertificateError) return false;
    throw error;
  }
}

function lasts(certificate: X509Certificate, spareMs: number, now: Date): boolean {
  return certificate.validFromDate <= now && certificate.validToDate.getTime() - now.getTime() > spareMs;
}

function sameNames(certificate: X509Certificate, names: readonly string[]): boolean {
  const held = (certificate.subjectAltName ?? "").split(", ").map((entry) => {
    const [kind = "", ...rest] = entry.split(":");
    const value = rest.join(":");
    return kind === "IP Address" ? ipaddr.parse(value).toString() : value;
  });
  return held.length === names.length && names.every((name) => held.includes(name));
}

/** Null when the file does not exist. */
async function read(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (code === "ENOENT") return null;
    throw new CertificateError("unreadable", `${file} cannot be read (${code}).`, { cause });
  }
}

async function write(files: PairFiles, pair: CertificatePair): Promise<CertificatePair> {
  try {
    await replaceFile(files.keyFile, pair.key, 0o600);
    await replaceFile(files.certFile, pair.cert, 0o644);
    return pair;
  } catch (cause) {
    throw new CertificateError("unwritable", `${files.certFile} or its key cannot be written.`, { cause });
  }
}
