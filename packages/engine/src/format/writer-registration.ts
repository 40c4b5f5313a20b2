/**
 * Registrations of writers. When a writer is registered, the authority signs the writer's public key. The writer keeps
 * the registration and repeats it in the header of every session, so that each pack and each manifest can be checked
 * with the authority's public key alone. There is no registration object whose loss would make packs unreadable.
 *
 *   registration   public key (32) · u64 time · authority's signature (64) over vault (16), public key and time
 *
 * A revocation is a record of the chain (`chain.ts`) and concerns later sessions only.
 */

import { ByteReader, ByteWriter, FormatError } from "./bytes.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, signerFromSeed, signerId, signingPublicLength, verifySignature } from "./signing.ts";

export const registrationLength = signingPublicLength + 8 + signatureLength;

export interface WriterRegistration {
  readonly writerId: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly registeredAt: number;
}

/** A signer that the authority registered with a vault: what opens sessions. */
export interface Writer extends Signer {
  readonly registration: Uint8Array;
}

/** Signs a writer's public key for a vault. */
export function encodeRegistration(
  authority: Signer,
  vaultId: Uint8Array,
  publicKey: Uint8Array,
  registeredAt: number,
): Buffer {
  const signature = authority.sign("writer", signedPart(vaultId, publicKey, registeredAt));
  return new ByteWriter(registrationLength).raw(publicKey).u64(registeredAt).raw(signature).take();
}

/** Reads a registration. Throws `FormatError` unless the vault's authority signed it for this vault. */
export function decodeRegistration(
  registration: Uint8Array,
  vaultId: Uint8Array,
  authorityPublicKey: Uint8Array,
): WriterRegistration {
  const reader = new ByteReader(registration);
  const publicKey = Buffer.from(reader.raw(signingPublicLength));
  const registeredAt = reader.u64();
  const signature = reader.raw(signatureLength);
  reader.done();
  if (!verifySignature(authorityPublicKey, "writer", signedPart(vaultId, publicKey, registeredAt), signature))
    throw new FormatError("a writer's registration that the authority did not sign");
  return { writerId: signerId(publicKey), publicKey, registeredAt };
}

/** A writer from its seed and the registration that it was given. */
export function writerFromSeed(seed: Uint8Array, registration: Uint8Array): Writer {
  return { ...signerFromSeed(seed), registration };
}

/** The authority as a writer: upkeep's sessions are its own. It registers itself, so the registration is always the same. */
export function authorityWriter(authority: Signer, vaultId: Uint8Array): Writer {
  return { ...authority, registration: encodeRegistration(authority, vaultId, authority.publicKey, 0) };
}

function signedPart(vaultId: Uint8Array, publicKey: Uint8Array, registeredAt: number): Buffer {
  return new ByteWriter(64).raw(vaultId).raw(publicKey).u64(registeredAt).take();
}
