/**
 * Ed25519 signatures. Encryption does not show who wrote something; a signature does. Every signature includes a domain, so a
 * signed pack is never accepted as a signed manifest.
 *
 * A signer is identified by the first 16 bytes of the SHA-256 of its public key.
 */

import type { KeyObject } from "node:crypto";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { sha256 } from "./hash.ts";

export const signatureLength = 64;
export const signerIdLength = 16;
export const signingSeedLength = 32;
export const signingPublicLength = 32;

export type SignatureDomain = "session" | "pack" | "manifest" | "countersign" | "chain" | "writer" | "agent";

/** A private key that signs: a writer's or the authority's. */
export interface Signer {
  readonly id: Uint8Array;
  readonly publicKey: Uint8Array;
  sign(domain: SignatureDomain, message: Uint8Array): Buffer;
}

/** A signer from its 32-byte seed. */
export function signerFromSeed(seed: Uint8Array): Signer {
  const key = createPrivateKey({ key: Buffer.from(seed), format: "raw-private", asymmetricKeyType: "ed25519" });
  const publicKey = createPublicKey(key).export({ format: "raw-public" });
  return {
    id: signerId(publicKey),
    publicKey,
    sign: (domain, message) => sign(null, withDomain(domain, message), key),
  };
}

/** Whether the holder of `publicKey` signed this message in this domain. */
export function verifySignature(
  publicKey: Uint8Array,
  domain: SignatureDomain,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(null, withDomain(domain, message), publicKeyObject(publicKey), signature);
}

/** The id of a public key. */
export function signerId(publicKey: Uint8Array): Buffer {
  return sha256(publicKey).subarray(0, signerIdLength);
}

function withDomain(domain: SignatureDomain, message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`emanet v2 ${domain}\0`), sha256(message)]);
}

function publicKeyObject(publicKey: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(publicKey), format: "raw-public", asymmetricKeyType: "ed25519" });
}
