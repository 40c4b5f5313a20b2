/**
 * Issues the two certificates of the local authority. Nothing is read or written here: keys and certificates come in
 * and go out as PEM text. Loading this module loads an ASN.1 library (about 0.1 s), so it is imported only when
 * something has to be issued.
 *
 * The *authority* is a self-signed root that may sign server certificates and no further authorities. Renewing it
 * keeps its key and name: certificates that it signed before stay valid under the new root, and clients that trust
 * the old root accept what is signed after.
 * The *leaf* is the server's certificate; it gets a new key each time.
 *
 * The profile is what strict verifiers ask for (RFC 5280, OpenSSL `-x509_strict`, Python 3.13, Go, browsers): names
 * only as subject alternative names, key usages and key identifiers on both certificates.
 */

import "./metadata-polyfill.ts";
import { createPrivateKey, createPublicKey, KeyObject, type webcrypto } from "node:crypto";
import { isIP } from "node:net";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { Random } from "../clock.ts";
import type { CertificatePair } from "./certificate-pair.ts";

const dayMs = 86_400_000;

/** Clients' clocks may run behind ours by as much. */
const backdatedMs = dayMs;

/** Long enough that an office never has to distribute a new root by surprise. */
const authorityLifeMs = 3653 * dayMs;

/** Browsers and Apple's verifiers refuse server certificates of more than 398 days. */
const leafLifeMs = 397 * dayMs;

/** RFC 5280 allows 20 bytes; 16 random ones never repeat. */
const serialBytes = 16;

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** A new root; with `key`, the same root again with a new lifetime. */
export async function issueAuthority(now: Date, random: Random, key?: string): Promise<CertificatePair> {
  const keys = key === undefined ? await newKeys() : await keysFrom(key);
  const keyIdentifier = await SubjectKeyIdentifierExtension.create(keys.publicKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(random),
    // The key is part of the name, so that two roots in one trust store are never taken for one another.
    name: [{ O: ["Emanet"] }, { CN: [`Emanet local authority ${keyIdentifier.keyId.slice(0, 8)}`] }],
    notBefore: new Date(now.getTime() - backdatedMs),
    notAfter: new Date(now.getTime() - backdatedMs + authorityLifeMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      keyIdentifier,
    ],
  });
  return { cert: pem(certificate), key: key ?? privatePem(keys.privateKey) };
}

/** A server certificate for these names, signed by the authority. */
export async function issueLeaf(
  authority: CertificatePair,
  names: readonly string[],
  now: Date,
  random: Random,
): Promise<CertificatePair> {
  const issuer = new X509Certificate(authority.cert);
  const issuerKeys = await keysFrom(authority.key);
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(random),
    subject: [{ O: ["Emanet"] }, { CN: ["Emanet server"] }],
    issuer: issuer.subjectName,
    notBefore: new Date(now.getTime() - backdatedMs),
    notAfter: new Date(now.getTime() - backdatedMs + leafLifeMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: issuerKeys.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? "dns" : "ip", value: name }) as const),
      ),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuerKeys.publicKey),
    ],
  });
  return { cert: pem(certificate), key: privatePem(keys.privateKey) };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function keysFrom(key: string): Promise<webcrypto.CryptoKeyPair> {
  return {
    privateKey: createPrivateKey(key).toCryptoKey(algorithm, true, ["sign"]),
    publicKey: createPublicKey(key).toCryptoKey(algorithm, true, ["verify"]),
  };
}

/** Hexadecimal; the first bit is cleared because the number must be positive, the second set so that no length is lost. */
function serialNumber(random: Random): string {
  const bytes = random.bytes(serialBytes);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}

function privatePem(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: "pkcs8", format: "pem" }).toString();
}
