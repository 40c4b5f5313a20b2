/**
 * The keys of a vault, who has which of them, and the key object that stores them.
 *
 * - A *reader* has all keys: the private seed (X-Wing) gives the content key of every session.
 * - A *writer* has the public key and the block-id key. It can encrypt and deduplicate, and decrypt nothing.
 * - The *authority* (the service, or a local repository) has an Ed25519 seed: it registers writers, accepts
 *   manifests and signs changes of retention.
 *
 * The key object is encrypted under the master key: AES-256-GCM over the secrets, the public part as additional data. Without
 * the master key the vault's keys can be neither read nor replaced. Re-wrapping writes a new key object and no data.
 * Destroying every copy of the key object erases the vault.
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import type { EngineContext } from "../context.ts";
import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import { deriveKey } from "./hash.ts";
import type { Signer } from "./signing.ts";
import { signerFromSeed } from "./signing.ts";
import { xWingPublicKey, xWingPublicLength } from "./x-wing.ts";

export const vaultIdLength = 16;
const magic = Buffer.from("EMANETK1");
const nonceLength = 12;
const tagLength = 16;

/** Magic, vault, epoch, two public keys, nonce, three secrets, tag. */
const keyObjectLength = 8 + vaultIdLength + 4 + xWingPublicLength + 32 + nonceLength + 96 + tagLength;

/** The keys of a writer. It may keep them between sessions. */
export interface WriterKeys {
  readonly vaultId: Uint8Array;
  readonly epoch: number;
  readonly publicKey: Uint8Array;
  readonly blockIdKey: Uint8Array;
}

/** All keys of a vault. */
export interface VaultKeys extends WriterKeys {
  readonly privateSeed: Uint8Array;
  readonly authoritySeed: Uint8Array;
  readonly authorityPublicKey: Uint8Array;
}

/** Draws the keys of a new vault. */
export function createVaultKeys(ctx: EngineContext, vaultId: Uint8Array): VaultKeys {
  const privateSeed = ctx.random(32);
  const authoritySeed = ctx.random(32);
  return {
    vaultId,
    epoch: 1,
    publicKey: xWingPublicKey(privateSeed),
    blockIdKey: ctx.random(32),
    privateSeed,
    authoritySeed,
    authorityPublicKey: signerFromSeed(authoritySeed).publicKey,
  };
}

/** The part of the keys that a writer is given. */
export function writerKeys(keys: VaultKeys): WriterKeys {
  const { vaultId, epoch, publicKey, blockIdKey } = keys;
  return { vaultId, epoch, publicKey, blockIdKey };
}

/** The authority's signing key. */
export function authoritySigner(keys: VaultKeys): Signer {
  return signerFromSeed(keys.authoritySeed);
}

/** The key of tree and list node ids. */
export function nodeKeyOf(keys: WriterKeys): Buffer {
  return deriveKey(keys.blockIdKey, "node id");
}

/** The key from which the cutter's gear table is derived. */
export function cutterKeyOf(keys: WriterKeys): Buffer {
  return deriveKey(keys.blockIdKey, "cutter");
}

/** Encrypts the keys under the master key. Returns the key object. */
export function wrapVaultKeys(ctx: EngineContext, masterKey: Uint8Array, keys: VaultKeys): Buffer {
  const head = new ByteWriter(2048);
  head.raw(magic).raw(keys.vaultId).u32(keys.epoch).raw(keys.publicKey).raw(keys.authorityPublicKey);
  const nonce = ctx.random(nonceLength);
  const cipher = createCipheriv("aes-256-gcm", wrapKey(masterKey), nonce);
  cipher.setAAD(head.view());
  const secrets = Buffer.concat([keys.privateSeed, keys.blockIdKey, keys.authoritySeed]);
  const sealed = Buffer.concat([cipher.update(secrets), cipher.final()]);
  return head.raw(nonce).raw(sealed).raw(cipher.getAuthTag()).take();
}

/** Decrypts a key object. Throws `FormatError` if it is damaged, the master key is wrong, or it is no key object. */
export function unwrapVaultKeys(masterKey: Uint8Array, object: Uint8Array): VaultKeys {
  const reader = new ByteReader(object);
  if (!sameBytes(reader.raw(8), magic)) throw new FormatError("not a key object");
  const vaultId = Buffer.from(reader.raw(vaultIdLength));
  const epoch = reader.u32();
  const publicKey = Buffer.from(reader.raw(1216));
  const authorityPublicKey = Buffer.from(reader.raw(32));
  const head = object.subarray(0, reader.at);
  const decipher = createDecipheriv("aes-256-gcm", wrapKey(masterKey), reader.raw(nonceLength));
  const sealed = reader.raw(96);
  decipher.setAuthTag(reader.raw(tagLength));
  reader.done();
  decipher.setAAD(head);
  const secrets = openSecrets(() => Buffer.concat([decipher.update(sealed), decipher.final()]));
  const privateSeed = Buffer.from(secrets.subarray(0, 32));
  const authoritySeed = Buffer.from(secrets.subarray(64, 96));
  return {
    vaultId,
    epoch,
    publicKey,
    blockIdKey: Buffer.from(secrets.subarray(32, 64)),
    privateSeed,
    authoritySeed,
    authorityPublicKey,
  };
}

/** Whether the bytes look like a key object of this vault. Only the master key can check more. */
export function isKeyObject(object: Uint8Array, vaultId: Uint8Array): boolean {
  const head = magic.length + vaultIdLength;
  return (
    object.length === keyObjectLength &&
    sameBytes(object.subarray(0, magic.length), magic) &&
    sameBytes(object.subarray(magic.length, head), vaultId)
  );
}

function openSecrets(open: () => Buffer): Buffer {
  try {
    return open();
  } catch (cause) {
    throw new FormatError("the key object does not open with this master key", { cause });
  }
}

function wrapKey(masterKey: Uint8Array): Buffer {
  if (masterKey.length !== 32) throw new RangeError("a master key has 32 bytes");
  return deriveKey(masterKey, "vault key wrap");
}
