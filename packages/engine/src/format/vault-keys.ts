/**
 * The keys of a vault, the roles that hold parts of them, and the key object that keeps them in the object store.
 *
 * - A *writer* holds the public key and the block-id key. It can encrypt, and find stored blocks by id. It cannot decrypt.
 * - A *reader* also holds the private seeds. It opens every session's content key.
 * - The *authority* (the service, or a local repository) also holds an Ed25519 seed. It registers writers, accepts
 *   manifests and signs the chain.
 *
 * An *epoch* is a key pair. A new epoch is drawn when a private seed may have leaked: new sessions use it, and old frames
 * still open with the seed of their own epoch. The block-id key of a vault never changes, because with another one
 * no stored block would be found.
 *
 *   key object   magic "EMANETK2" · vault (16) · u32 epoch · public key (1216) · authority's public key (32) ·
 *                bytes decryption part · bytes signing part
 *   part         nonce (12) · AES-256-GCM of the secrets · tag (16); additional data: the object before the parts
 *   secrets      decryption: fields (1 block-id key, 2 seeds: per epoch u32 epoch, seed (32)); signing: seed (32)
 *
 * The two parts are sealed under different keys, both derived from the master key. So a recovery kit can hold what opens
 * and not what signs (`recovery-kit.ts`). The object of the newest epoch holds the seeds of all epochs: it is enough alone.
 * A new master key means new objects and no new data. Erasure is the destruction of every copy.
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import type { EngineContext } from "../context.ts";
import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import { readFields, writeFields } from "./fields.ts";
import { deriveKey } from "./hash.ts";
import type { Signer } from "./signing.ts";
import { signerFromSeed, signingPublicLength, signingSeedLength } from "./signing.ts";
import { xWingPublicKey, xWingPublicLength } from "./x-wing.ts";

export const vaultIdLength = 16;
const magic = Buffer.from("EMANETK2");
const nonceLength = 12;
const tagLength = 16;
const seedLength = 32;
const secretKeyLength = 32;

const secretTags = { blockIdKey: 1, seeds: 2 } as const;

/** What a writer needs and may keep between sessions. */
export interface WriterKeys {
  readonly vaultId: Uint8Array;
  /** The newest epoch, and its public key. */
  readonly epoch: number;
  readonly publicKey: Uint8Array;
  readonly blockIdKey: Uint8Array;
}

/** What opens everything and signs nothing. */
export interface ReaderKeys extends WriterKeys {
  readonly privateSeeds: ReadonlyMap<number, Uint8Array>;
  readonly authorityPublicKey: Uint8Array;
}

/** All keys of a vault. */
export interface VaultKeys extends ReaderKeys {
  readonly authoritySeed: Uint8Array;
}

/** Draws the keys of a new vault. */
export function createVaultKeys(ctx: EngineContext, vaultId: Uint8Array): VaultKeys {
  const privateSeed = ctx.random(seedLength);
  const authoritySeed = ctx.random(signingSeedLength);
  return {
    vaultId,
    epoch: 1,
    publicKey: xWingPublicKey(privateSeed),
    blockIdKey: ctx.random(secretKeyLength),
    privateSeeds: new Map([[1, privateSeed]]),
    authoritySeed,
    authorityPublicKey: signerFromSeed(authoritySeed).publicKey,
  };
}

/** The same keys with one more epoch, which is the newest. */
export function withNewEpoch(ctx: EngineContext, keys: VaultKeys, epoch: number = keys.epoch + 1): VaultKeys {
  const seed = ctx.random(seedLength);
  return {
    ...keys,
    epoch,
    publicKey: xWingPublicKey(seed),
    privateSeeds: new Map([...keys.privateSeeds, [epoch, seed]]),
  };
}

/** The keys as they were while this epoch was the newest: what the epoch's key object holds. */
export function keysOfEpoch(keys: VaultKeys, epoch: number): VaultKeys {
  const privateSeeds = new Map([...keys.privateSeeds].filter(([each]) => each <= epoch));
  return { ...keys, epoch, publicKey: publicKeyOf(keys, epoch), privateSeeds };
}

/** The public key of an epoch. */
export function publicKeyOf({ privateSeeds }: Pick<ReaderKeys, "privateSeeds">, epoch: number): Uint8Array {
  const seed = privateSeeds.get(epoch);
  if (seed === undefined) throw new FormatError(`the vault's keys have no epoch ${epoch}`);
  return xWingPublicKey(seed);
}

/** The part of the keys that a writer is given. */
export function writerKeys({ vaultId, epoch, publicKey, blockIdKey }: WriterKeys): WriterKeys {
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

/** The key that shapes the cutter's gear table. */
export function cutterKeyOf(keys: WriterKeys): Buffer {
  return deriveKey(keys.blockIdKey, "cutter");
}

/** Seals the keys under the master key, as the key object stores them. */
export function wrapVaultKeys(ctx: EngineContext, masterKey: Uint8Array, keys: VaultKeys): Buffer {
  const out = new ByteWriter(4096).raw(magic).raw(keys.vaultId).u32(keys.epoch);
  out.raw(keys.publicKey).raw(keys.authorityPublicKey);
  const head = out.take();
  out.bytes(sealPart(ctx, partKey(masterKey, "vault decryption keys"), head, encodeSecrets(keys)));
  out.bytes(sealPart(ctx, partKey(masterKey, "vault signing key"), head, keys.authoritySeed));
  return out.take();
}

/** Opens a key object. Throws `FormatError` for damage, a wrong master key and an object that is none. */
export function unwrapVaultKeys(masterKey: Uint8Array, object: Uint8Array): VaultKeys {
  const { head, decryption, signing, ...public_ } = parseKeyObject(object);
  const secrets = decodeSecrets(openPart(partKey(masterKey, "vault decryption keys"), head, decryption));
  const authoritySeed = openPart(partKey(masterKey, "vault signing key"), head, signing);
  return { ...public_, ...secrets, authoritySeed };
}

/** Whether the bytes have the shape of a key object of this vault. Opening it needs the master key. */
export function isKeyObject(object: Uint8Array, vaultId: Uint8Array): boolean {
  try {
    return sameBytes(parseKeyObject(object).vaultId, vaultId);
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

function parseKeyObject(object: Uint8Array) {
  const reader = new ByteReader(object);
  if (!sameBytes(reader.raw(magic.length), magic)) throw new FormatError("not a key object");
  const vaultId = Buffer.from(reader.raw(vaultIdLength));
  const epoch = reader.u32();
  const publicKey = Buffer.from(reader.raw(xWingPublicLength));
  const authorityPublicKey = Buffer.from(reader.raw(signingPublicLength));
  const head = object.subarray(0, reader.at);
  const decryption = reader.bytes();
  const signing = reader.bytes();
  reader.done();
  return { vaultId, epoch, publicKey, authorityPublicKey, head, decryption, signing };
}

/** The secrets of a reader, as the decryption part seals them. */
export function encodeSecrets({ blockIdKey, privateSeeds }: ReaderKeys): Buffer {
  const seeds = new ByteWriter();
  for (const [epoch, seed] of privateSeeds) seeds.u32(epoch).raw(seed);
  const out = new ByteWriter();
  writeFields(out, [
    [secretTags.blockIdKey, blockIdKey],
    [secretTags.seeds, seeds.take()],
  ]);
  return out.take();
}

export function decodeSecrets(plain: Uint8Array): Pick<ReaderKeys, "blockIdKey" | "privateSeeds"> {
  const reader = new ByteReader(plain);
  const fields = readFields(reader);
  reader.done();
  const blockIdKey = Buffer.from(fields.get(secretTags.blockIdKey) ?? []);
  if (blockIdKey.length !== secretKeyLength) throw new FormatError("a key object has no block-id key");
  const seeds = new ByteReader(fields.get(secretTags.seeds) ?? Buffer.alloc(0));
  const privateSeeds = new Map<number, Uint8Array>();
  while (seeds.left > 0) privateSeeds.set(seeds.u32(), Buffer.from(seeds.raw(seedLength)));
  return { blockIdKey, privateSeeds };
}

/** Seals secrets. `head` is what they belong to: it is authenticated with them. */
export function sealPart(ctx: EngineContext, key: Uint8Array, head: Uint8Array, secrets: Uint8Array): Buffer {
  const nonce = ctx.random(nonceLength);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(head);
  return Buffer.concat([nonce, cipher.update(secrets), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `sealPart` sealed. Throws `FormatError` where the key or any byte is another one. */
export function openPart(key: Uint8Array, head: Uint8Array, part: Uint8Array): Buffer {
  if (part.length < nonceLength + tagLength) throw new FormatError("a sealed key part is too short");
  const decipher = createDecipheriv("aes-256-gcm", key, part.subarray(0, nonceLength));
  decipher.setAAD(head);
  decipher.setAuthTag(part.subarray(part.length - tagLength));
  try {
    return Buffer.concat([decipher.update(part.subarray(nonceLength, part.length - tagLength)), decipher.final()]);
  } catch (cause) {
    throw new FormatError("the keys do not open with this key", { cause });
  }
}

/** The key that seals one part. */
export function partKey(wrappingKey: Uint8Array, purpose: string): Buffer {
  if (wrappingKey.length !== secretKeyLength) throw new RangeError("a wrapping key has 32 bytes");
  return deriveKey(wrappingKey, purpose);
}
