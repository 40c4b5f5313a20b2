/**
 * Registered writers. At enrolment the authority signs the writer's public key. The registration is an object in the store, so a
 * rebuild knows whose signatures to accept from the store and the vault's keys alone.
 */

import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, signerId, signingPublicLength, verifySignature } from "./signing.ts";
import { vaultIdLength } from "./vault-keys.ts";

const magic = Buffer.from("EMANETW1");

/** The public keys of the writers that a vault accepts, by the hexadecimal writer id. */
export type WriterRegistry = ReadonlyMap<string, Uint8Array>;

export interface WriterRegistration {
  readonly writerId: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly registeredAt: number;
}

/** The registration object of a writer. */
export function encodeRegistration(
  authority: Signer,
  vaultId: Uint8Array,
  publicKey: Uint8Array,
  registeredAt: number,
): Buffer {
  const writer = new ByteWriter().raw(magic).raw(vaultId).raw(publicKey).u64(registeredAt);
  const signature = authority.sign("writer", writer.view());
  return writer.raw(signature).take();
}

/** Reads a registration. Throws `FormatError` unless the vault's authority signed it for this vault. */
export function decodeRegistration(
  object: Uint8Array,
  vaultId: Uint8Array,
  authorityPublicKey: Uint8Array,
): WriterRegistration {
  const reader = new ByteReader(object);
  if (!sameBytes(reader.raw(8), magic)) throw new FormatError("not a writer registration");
  if (!sameBytes(reader.raw(vaultIdLength), vaultId)) throw new FormatError("a registration for another vault");
  const publicKey = Buffer.from(reader.raw(signingPublicLength));
  const registeredAt = reader.u64();
  const signed = object.subarray(0, reader.at);
  const signature = reader.raw(signatureLength);
  reader.done();
  if (!verifySignature(authorityPublicKey, "writer", signed, signature)) {
    throw new FormatError("a registration that the authority did not sign");
  }
  return { writerId: signerId(publicKey), publicKey, registeredAt };
}

/** A registry from registrations. */
export function registryOf(registrations: Iterable<WriterRegistration>): WriterRegistry {
  const registry = new Map<string, Uint8Array>();
  for (const { writerId, publicKey } of registrations) registry.set(hex(writerId), publicKey);
  return registry;
}
