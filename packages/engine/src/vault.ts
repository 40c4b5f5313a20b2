/**
 * An open vault: its object store, its catalog and its keys. `createVault` draws the keys and writes the key object,
 * `openVault` decrypts the key object with the master key.
 *
 * The vault of a *writer* has no private seed: it can back up and decrypt nothing.
 */

import type { Catalog } from "./catalog/catalog.ts";
import type { EngineContext } from "./context.ts";
import { FormatError, sameBytes } from "./format/bytes.ts";
import type { VaultNames } from "./format/object-names.ts";
import { vaultNames } from "./format/object-names.ts";
import type { Signer } from "./format/signing.ts";
import { signerFromSeed, signerId } from "./format/signing.ts";
import type { VaultKeys, WriterKeys } from "./format/vault-keys.ts";
import { authoritySigner, createVaultKeys, unwrapVaultKeys, wrapVaultKeys } from "./format/vault-keys.ts";
import type { WriterRegistration, WriterRegistry } from "./format/writer-registration.ts";
import { decodeRegistration, encodeRegistration, registryOf } from "./format/writer-registration.ts";
import type { ObjectStore } from "./object-store.ts";
import { isObjectStoreError } from "./object-store.ts";

/** What writers and readers of a vault both have. */
export interface VaultAccess {
  readonly ctx: EngineContext;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly names: VaultNames;
}

/** Encrypts; decrypts nothing. */
export interface WriterVault extends VaultAccess {
  readonly keys: WriterKeys;
}

/** Decrypts everything, and signs as the authority. */
export interface Vault extends VaultAccess {
  readonly keys: VaultKeys;
  readonly authority: Signer;
}

/** Draws a new vault's keys and writes its key object. */
export async function createVault(
  access: Omit<VaultAccess, "names">,
  masterKey: Uint8Array,
  vaultId: Uint8Array,
): Promise<Vault> {
  const keys = createVaultKeys(access.ctx, vaultId);
  const names = vaultNames(vaultId);
  const object = wrapVaultKeys(access.ctx, masterKey, keys);
  await access.store.put(names.keyObject(keys.epoch), object, { ifAbsent: true });
  await access.store.put(names.keyCopy(keys.epoch), object);
  return { ...access, names, keys, authority: authoritySigner(keys) };
}

/**
 * Opens a vault with the store and the master key alone. Takes the newest key object that the master key decrypts, so a
 * damaged or forged one does not lock the owner out. Calls `refused` for each that it cannot decrypt.
 */
export async function openVault(
  access: Omit<VaultAccess, "names">,
  masterKey: Uint8Array,
  vaultId: Uint8Array,
  refused: (name: string, reason: string) => void = () => {},
): Promise<Vault> {
  const names = vaultNames(vaultId);
  const objects: string[] = [];
  for await (const { name } of access.store.list(names.keys)) objects.unshift(name);
  let failure = new FormatError("the vault has no key object");
  let found: VaultKeys | null = null;
  for (const name of objects) {
    const keys = await readKeys(access.store, name, masterKey, vaultId);
    if (keys instanceof FormatError) {
      refused(name, keys.message);
      failure = keys;
    } else if (found === null || keys.epoch > found.epoch) found = keys;
  }
  if (found === null) throw failure;
  return { ...access, names, keys: found, authority: authoritySigner(found) };
}

/** The keys in a key object, or why it is none of this vault's. */
async function readKeys(
  store: ObjectStore,
  name: string,
  masterKey: Uint8Array,
  vaultId: Uint8Array,
): Promise<VaultKeys | FormatError> {
  try {
    const keys = unwrapVaultKeys(masterKey, await store.get(name));
    return sameBytes(keys.vaultId, vaultId) ? keys : new FormatError("the key object is another vault's");
  } catch (error) {
    if (error instanceof FormatError) return error;
    if (isObjectStoreError(error, "not_found")) return new FormatError("the key object is missing");
    throw error;
  }
}

/**
 * Encrypts the vault's keys under another master key. Packs do not change. The copy is written and read back before the
 * key object is replaced, so at every moment one of the two can be decrypted with one of the two master keys.
 */
export async function rewrapVault(vault: Vault, masterKey: Uint8Array): Promise<void> {
  const { store, names, keys } = vault;
  const object = wrapVaultKeys(vault.ctx, masterKey, keys);
  for (const name of [names.keyCopy(keys.epoch), names.keyObject(keys.epoch)]) {
    await store.put(name, object);
    if (!sameBytes(await store.get(name), object))
      throw new FormatError(`${name} does not read back as it was written`);
  }
}

/** Rewrites each of the two key objects that is missing or damaged. Returns their names. */
export async function repairKeys(vault: Vault, masterKey: Uint8Array): Promise<readonly string[]> {
  const { store, names, keys } = vault;
  const broken: string[] = [];
  for (const name of [names.keyObject(keys.epoch), names.keyCopy(keys.epoch)]) {
    const found = await readKeys(store, name, masterKey, keys.vaultId);
    if (!(found instanceof FormatError) && sameBytes(found.privateSeed, keys.privateSeed)) continue;
    await store.put(name, wrapVaultKeys(vault.ctx, masterKey, keys));
    broken.push(name);
  }
  return broken;
}

/** Registers a writer's public key with the vault. */
export async function registerWriter(vault: Vault, publicKey: Uint8Array): Promise<void> {
  const object = encodeRegistration(vault.authority, vault.keys.vaultId, publicKey, vault.ctx.now());
  await vault.store.put(vault.names.writer(signerId(publicKey)), object);
}

/** The authority and all registered writers. Calls `refused` for a registration that the authority did not sign. */
export async function readWriters(
  vault: Vault,
  refused: (name: string, reason: string) => void = () => {},
): Promise<WriterRegistry> {
  const registrations: WriterRegistration[] = [];
  for await (const { name } of vault.store.list(vault.names.writers)) {
    try {
      registrations.push(
        decodeRegistration(await vault.store.get(name), vault.keys.vaultId, vault.keys.authorityPublicKey),
      );
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      refused(name, error.message);
    }
  }
  // Upkeep writes as the authority, which has no registration.
  const { authorityPublicKey: publicKey } = vault.keys;
  return registryOf([...registrations, { writerId: signerId(publicKey), publicKey, registeredAt: 0 }]);
}

/** The signer of a writer, from its seed. */
export function writerFromSeed(seed: Uint8Array): Signer {
  return signerFromSeed(seed);
}
