/**
 * A vault as the engine works on it: its object store, its index, its keys, and the way to open what is stored. Made by
 * `createVault` (draws keys, writes the key object) or `openVault` (unwraps them with the master key).
 *
 * A vault handle for a *writer* has no private seed: it can back up and can open nothing.
 */

import { FormatError } from "./bytes.ts";
import type { EngineContext } from "./context.ts";
import type { VaultIndex } from "./index/port.ts";
import type { Signer } from "./keys/signing.ts";
import { signerFromSeed, signerId } from "./keys/signing.ts";
import type { VaultKeys, WriterKeys } from "./keys/vault-keys.ts";
import { authoritySigner, createVaultKeys, unwrapVaultKeys, wrapVaultKeys } from "./keys/vault-keys.ts";
import type { WriterRegistration, WriterRegistry } from "./keys/writers.ts";
import { decodeRegistration, encodeRegistration, registryOf } from "./keys/writers.ts";
import type { VaultNames } from "./names.ts";
import { vaultNames } from "./names.ts";
import type { ObjectStore } from "./object-store.ts";

/** What every role has. */
export interface VaultAccess {
  readonly ctx: EngineContext;
  readonly store: ObjectStore;
  readonly index: VaultIndex;
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
  await access.store.put(names.keyObject(keys.epoch), wrapVaultKeys(access.ctx, masterKey, keys), { ifAbsent: true });
  return { ...access, names, keys, authority: authoritySigner(keys) };
}

/** Opens a vault with nothing but the store and the master key. */
export async function openVault(
  access: Omit<VaultAccess, "names">,
  masterKey: Uint8Array,
  vaultId: Uint8Array,
): Promise<Vault> {
  const names = vaultNames(vaultId);
  let newest: string | null = null;
  for await (const { name } of access.store.list(names.keys)) newest = name;
  if (newest === null) throw new FormatError("the vault has no key object");
  const keys = unwrapVaultKeys(masterKey, await access.store.get(newest));
  if (!Buffer.from(keys.vaultId).equals(Buffer.from(vaultId)))
    throw new FormatError("the key object is another vault's");
  return { ...access, names, keys, authority: authoritySigner(keys) };
}

/** Seals the vault's keys under another master key. No content is touched. */
export async function rewrapVault(vault: Vault, masterKey: Uint8Array): Promise<void> {
  await vault.store.put(vault.names.keyObject(vault.keys.epoch), wrapVaultKeys(vault.ctx, masterKey, vault.keys));
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
