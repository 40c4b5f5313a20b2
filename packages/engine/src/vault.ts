/**
 * A vault as the engine works on it: its object store, its catalog, its keys, and the way to open what is stored. Made by
 * `createVault` (draws keys, writes the key object) or `openVault` (unwraps them with the master key).
 *
 * A vault handle for a *writer* has no private seed: it can back up and can open nothing.
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

/** What every role has. */
export interface VaultAccess {
  readonly ctx: EngineContext;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly names: VaultNames;
}

/** Seals; opens nothing. */
export interface WriterVault extends VaultAccess {
  readonly keys: WriterKeys;
}

/** Opens everything, and signs as the authority. */
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
 * Opens a vault with nothing but the store and the master key. Of the key objects the newest that opens is taken: a damaged
 * one, or one that somebody planted, locks nobody out. Each that does not open is told to `refused`.
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
 * Seals the vault's keys under another master key. No content is touched. The copy is written and read back before the
 * object itself is replaced, so that at every moment one of the two opens with one of the two master keys.
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

/** Writes each of the two key objects anew that is missing or does not open. Returns the names of those. */
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

/** The authority, and the writers whose registrations it signed. A registration that it did not sign is left out and named. */
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
  // Upkeep writes as the authority itself, which needs no registration.
  const { authorityPublicKey: publicKey } = vault.keys;
  return registryOf([...registrations, { writerId: signerId(publicKey), publicKey, registeredAt: 0 }]);
}

/** A writer from its seed; the same as `signerFromSeed`, named for its role. */
export function writerFromSeed(seed: Uint8Array): Signer {
  return signerFromSeed(seed);
}
