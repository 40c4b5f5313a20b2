/**
 * X-Wing: the hybrid key encapsulation of draft-connolly-cfrg-xwing-kem, from X25519 and ML-KEM-768, both built into
 * Node. A shared secret stays secret while one of the two is unbroken. Accounting books are kept for ten years.
 *
 * A private key is its 32-byte seed. Encapsulation cannot be seeded (Node draws ML-KEM's message itself), so the
 * published vectors are checked for key generation and decapsulation, and encapsulation against another implementation.
 */

import type { KeyObject } from "node:crypto";
import { createHash, createPrivateKey, createPublicKey, decapsulate, diffieHellman, encapsulate } from "node:crypto";
import type { EngineContext } from "../context.ts";

export const xWingSeedLength = 32;
export const xWingPublicLength = 1216;
export const xWingCiphertextLength = 1120;

const mlkemPublicLength = 1184;
const mlkemCiphertextLength = 1088;
const label = Buffer.from("5c2e2f2f5e5c", "hex");

export interface XWingEncapsulation {
  readonly ciphertext: Uint8Array;
  readonly sharedSecret: Uint8Array;
}

interface PrivateParts {
  readonly mlkem: KeyObject;
  readonly x25519: KeyObject;
  readonly x25519Public: Buffer;
}

/** The parts of seeds in use. Making them from the seed takes longer than opening a secret with them. They go with the seed. */
const known = new WeakMap<Uint8Array, PrivateParts>();

/** The public key (1216 bytes) that belongs to a private seed. */
export function xWingPublicKey(seed: Uint8Array): Uint8Array {
  const parts = expand(seed);
  return Buffer.concat([rawPublic(parts.mlkem), parts.x25519Public]);
}

/** Draws a shared secret and its ciphertext. Only the private seed gives the secret back. */
export function xWingEncapsulate(ctx: EngineContext, publicKey: Uint8Array): XWingEncapsulation {
  if (publicKey.length !== xWingPublicLength) throw new RangeError("not an X-Wing public key");
  const mlkemPublic = createPublicKey({
    key: Buffer.from(publicKey.subarray(0, mlkemPublicLength)),
    format: "raw-public",
    asymmetricKeyType: "ml-kem-768",
  });
  const pkX = publicKey.subarray(mlkemPublicLength);
  const ephemeral = x25519Private(ctx.random(32));
  const ctX = rawPublic(ephemeral);
  const ssX = diffieHellman({ privateKey: ephemeral, publicKey: x25519Public(pkX) });
  const { sharedKey, ciphertext } = encapsulate(mlkemPublic);
  return {
    ciphertext: Buffer.concat([ciphertext, ctX]),
    sharedSecret: combine(sharedKey, ssX, ctX, pkX),
  };
}

/** Returns the shared secret. A changed ciphertext gives another secret and no error: the caller checks a commitment. */
export function xWingDecapsulate(seed: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  if (ciphertext.length !== xWingCiphertextLength) throw new RangeError("not an X-Wing ciphertext");
  const parts = known.get(seed) ?? expand(seed);
  known.set(seed, parts);
  const ctX = ciphertext.subarray(mlkemCiphertextLength);
  const ssM = decapsulate(parts.mlkem, ciphertext.subarray(0, mlkemCiphertextLength));
  const ssX = diffieHellman({ privateKey: parts.x25519, publicKey: x25519Public(ctX) });
  return combine(ssM, ssX, ctX, parts.x25519Public);
}

function expand(seed: Uint8Array): PrivateParts {
  if (seed.length !== xWingSeedLength) throw new RangeError("not an X-Wing seed");
  const expanded = createHash("shake256", { outputLength: 96 }).update(seed).digest();
  const mlkem = createPrivateKey({
    key: expanded.subarray(0, 64),
    format: "raw-seed",
    asymmetricKeyType: "ml-kem-768",
  });
  const x25519 = x25519Private(expanded.subarray(64));
  return { mlkem, x25519, x25519Public: rawPublic(x25519) };
}

function combine(ssM: Uint8Array, ssX: Uint8Array, ctX: Uint8Array, pkX: Uint8Array): Buffer {
  return createHash("sha3-256").update(ssM).update(ssX).update(ctX).update(pkX).update(label).digest();
}

function x25519Private(scalar: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(scalar), format: "raw-private", asymmetricKeyType: "x25519" });
}

function x25519Public(point: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(point), format: "raw-public", asymmetricKeyType: "x25519" });
}

function rawPublic(key: KeyObject): Buffer {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return publicKey.export({ format: "raw-public" });
}
