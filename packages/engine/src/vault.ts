/**
 * A vault as the engine works on it: its object store, its catalog, its keys and its chain. `createVault` draws keys and
 * writes the key object; `openVault` unwraps them with the master key; `openReadableVault` needs a recovery kit only.
 *
 * A `ReadableVault` decrypts everything and signs nothing. A `Vault` also signs as the authority. A writer has no vault
 * object: it needs only `WriterKeys`, which encrypt and cannot decrypt.
 */

import type { Catalog } from "./catalog/catalog.ts";
import { CatalogError } from "./catalog/catalog.ts";
import { OutdatedKeysError } from "./catalog/outdated-keys.ts";
import { appendToChain, chainWriter, VaultChain } from "./catalog/vault-chain.ts";
import type { EngineContext } from "./context.ts";
import { FormatError, sameBytes } from "./format/bytes.ts";
import { sha256 } from "./format/hash.ts";
import type { VaultNames } from "./format/object-names.ts";
import { lastPart, vaultNames } from "./format/object-names.ts";
import type { VaultIdentity } from "./format/pack.ts";
import { openRecoveryKit } from "./format/recovery-kit.ts";
import type { ReaderKeys, VaultKeys } from "./format/vault-keys.ts";
import {
  authoritySigner,
  createVaultKeys,
  keysOfEpoch,
  publicKeyOf,
  unwrapVaultKeys,
  withNewEpoch,
  wrapVaultKeys,
} from "./format/vault-keys.ts";
import type { Writer } from "./format/writer-registration.ts";
import { authorityWriter, encodeRegistration } from "./format/writer-registration.ts";
import type { ObjectStore } from "./object-store.ts";
import { isObjectStoreError } from "./object-store.ts";

/** What the writer, the reader and the authority of a vault all use. */
export interface VaultAccess {
  readonly ctx: EngineContext;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly names: VaultNames;
}

/** Opens everything; signs nothing. What restore, verify and rebuild need. */
export interface ReadableVault extends VaultAccess {
  readonly keys: ReaderKeys;
  readonly chain: VaultChain;
}

/** Opens everything, and signs as the authority. */
export interface Vault extends ReadableVault {
  readonly keys: VaultKeys;
  readonly authority: Writer;
}

/** What the caller passes in to open or create a vault. */
type VaultParts = Omit<VaultAccess, "names">;

/** Draws a new vault's keys, writes its key object and begins its chain. */
export async function createVault(access: VaultParts, masterKey: Uint8Array, vaultId: Uint8Array): Promise<Vault> {
  const vault = vaultOf(access, createVaultKeys(access.ctx, vaultId));
  const { names, keys, store, ctx } = vault;
  const object = wrapVaultKeys(ctx, masterKey, keys);
  await store.put(names.keyObject(keys.epoch), object, { ifAbsent: true });
  await store.put(names.keyCopy(keys.epoch), object);
  await beginChain(vault);
  return vault;
}

/**
 * Opens a vault, or creates it where the store has nothing of it. Any number of processes may call it at once: one key
 * object is written, and all use it. What a process left undone that ended between two steps is done by the next call.
 * Once it has returned, use {@link openVault}: a vault whose key object is lost must not get new keys.
 */
export async function openOrCreateVault(
  access: VaultParts,
  masterKey: Uint8Array,
  vaultId: Uint8Array,
): Promise<Vault> {
  const { ctx, store } = access;
  const names = vaultNames(vaultId);
  if (!(await hasKeyObject({ store, names }, 1))) {
    const object = wrapVaultKeys(ctx, masterKey, createVaultKeys(ctx, vaultId));
    await store.put(names.keyObject(1), object, { ifAbsent: true }).catch((error: unknown) => {
      if (!isObjectStoreError(error, "exists")) throw error;
    });
  }
  const vault = await openVault(access, masterKey, vaultId);
  await repairKeys(vault, masterKey);
  if ((await store.stat(names.chainRecord(1))) === null) await beginChain(vault);
  return vault;
}

/** Writes the first record of the chain, unless another process does so first. */
async function beginChain(vault: Vault): Promise<void> {
  const { catalog } = vault;
  try {
    await appendToChain(chainWriter(vault, vault.authority), async () => {
      if ((await catalog.chainHead()).sequence > 0) throw new ChainBegunError();
      return { kind: "incarnation", incarnation: 1, reason: "created" };
    });
  } catch (error) {
    if (!(error instanceof ChainBegunError)) throw error;
  }
}

/** Another process has written the first record in the meantime. */
class ChainBegunError extends Error {}

/**
 * Opens a vault with nothing but the store and the master key. Of the key objects the newest that opens is taken: a damaged
 * one, or one that an attacker added, makes no vault unreadable. `refused` is called for each that does not open. If the
 * newest epoch does not open, older snapshots can be read, and every upload is refused (`OutdatedKeysError`).
 */
export async function openVault(
  access: VaultParts,
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
    } else found = found === null ? keys : withSeedsOf(found, keys);
  }
  if (found === null) throw failure;
  return vaultOf(access, found);
}

/** The newer of two keys, with the seeds of both. So the seed of an epoch is found in every key object that has it. */
function withSeedsOf(a: VaultKeys, b: VaultKeys): VaultKeys {
  const [newer, older] = a.epoch >= b.epoch ? [a, b] : [b, a];
  return { ...newer, privateSeeds: new Map([...older.privateSeeds, ...newer.privateSeeds]) };
}

/** Opens a vault for reading with the store and a recovery kit. */
export function openReadableVault(access: VaultParts, kitKey: Uint8Array, kit: Uint8Array): ReadableVault {
  return readableVaultOf(access, openRecoveryKit(kitKey, kit));
}

function vaultOf(access: VaultParts, keys: VaultKeys): Vault {
  return { ...readableVaultOf(access, keys), keys, authority: authorityWriter(authoritySigner(keys), keys.vaultId) };
}

function readableVaultOf(access: VaultParts, keys: ReaderKeys): ReadableVault {
  const names = vaultNames(keys.vaultId);
  const chain = new VaultChain({ store: access.store, names, ...identityOf({ keys }) });
  return { ...access, names, keys, chain };
}

/** What packs, manifests and chain records of a vault are checked against. */
export function identityOf({ keys }: { readonly keys: ReaderKeys }): VaultIdentity {
  return { vaultId: keys.vaultId, authorityPublicKey: keys.authorityPublicKey };
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
 * Seals the vault's keys under another master key: the key objects of every epoch. No content is touched. Each copy is written
 * and read back before the object itself is replaced, so at every moment one of the two opens with one of the two master
 * keys. Throws `OutdatedKeysError` if the vault has a newer epoch than these keys: its key object would stay as it is.
 */
export async function rewrapVault(vault: Vault, masterKey: Uint8Array): Promise<void> {
  const { store, names, keys } = vault;
  await assertNewestKeys(vault);
  for (const epoch of [...keys.privateSeeds.keys()].sort((a, b) => b - a)) {
    const object = wrapVaultKeys(vault.ctx, masterKey, keysOfEpoch(keys, epoch));
    for (const name of [names.keyCopy(epoch), names.keyObject(epoch)]) {
      await store.put(name, object);
      if (!sameBytes(await store.get(name), object))
        throw new FormatError(`${name} does not read back as it was written`);
    }
  }
}

/** Throws `OutdatedKeysError` if the chain or the store has a newer epoch, `FormatError` if the chain names other keys. */
async function assertNewestKeys({ store, names, keys, chain }: Vault): Promise<void> {
  const { epochs, newestEpoch } = await chain.read();
  for (const [epoch, hash] of epochs)
    if (keys.privateSeeds.has(epoch) && !sameBytes(sha256(publicKeyOf(keys, epoch)), hash))
      throw new FormatError(`the keys of epoch ${epoch} are not those that the chain names`);
  let newest = newestEpoch;
  for await (const { name } of store.list(names.keys))
    newest = Math.max(newest, Number.parseInt(lastPart(name), 10) || 0);
  // A listing may lag.
  if (await hasKeyObject({ store, names }, keys.epoch + 1)) newest = Math.max(newest, keys.epoch + 1);
  if (newest > keys.epoch)
    throw new OutdatedKeysError(
      `the keys are of epoch ${keys.epoch}, and the vault has epoch ${newest}: open the vault again`,
    );
}

async function hasKeyObject({ store, names }: Pick<VaultAccess, "store" | "names">, epoch: number): Promise<boolean> {
  return (await store.stat(names.keyObject(epoch))) !== null || (await store.stat(names.keyCopy(epoch))) !== null;
}

/**
 * Draws a new key pair. Later sessions use it; what is stored stays readable with the pairs before it. Use it when a
 * private seed may have leaked. The old seed still decrypts old data. Only new data is safe from its holder.
 *
 * The keys are read from the store first, because another process may have rotated them. An epoch whose rotation ended
 * before its record gets its record now. `written` runs when the new key objects are there, before the chain has the epoch: processes that
 * open the vault again then have the new keys before the old ones are refused.
 */
export async function rotateVaultKeys(
  vault: Vault,
  masterKey: Uint8Array,
  written: (epoch: number) => Promise<void> = async () => {},
): Promise<Vault> {
  const { store, names, ctx } = vault;
  const { keys: current } = await openVault(vault, masterKey, vault.keys.vaultId);
  const { epochs, newestEpoch } = await vault.chain.read();
  let epoch = Math.max(current.epoch, newestEpoch) + 1;
  while (await hasKeyObject(vault, epoch)) epoch++;
  const keys = withNewEpoch(ctx, current, epoch);
  const object = wrapVaultKeys(ctx, masterKey, keys);
  await store.put(names.keyObject(epoch), object, { ifAbsent: true });
  await store.put(names.keyCopy(epoch), object);
  await written(epoch);
  for (const each of [...keys.privateSeeds.keys()].sort((a, b) => a - b)) {
    if (each === 1 || epochs.has(each)) continue;
    const publicKeyHash = sha256(publicKeyOf(keys, each));
    await appendToChain(chainWriter(vault, vault.authority), () => ({ kind: "epoch", epoch: each, publicKeyHash }));
  }
  return { ...vault, keys };
}

/**
 * Writes each of the two key objects again that is missing, does not open, or differs from the other one: scrub finds a changed bit by
 * comparing them. Returns their names.
 */
export async function repairKeys(vault: Vault, masterKey: Uint8Array): Promise<readonly string[]> {
  const { store, names, keys } = vault;
  const found: { readonly name: string; readonly whole: Uint8Array | null }[] = [];
  for (const name of [names.keyObject(keys.epoch), names.keyCopy(keys.epoch)]) {
    const opened = await readKeys(store, name, masterKey, keys.vaultId);
    const isWhole = !(opened instanceof FormatError) && opened.privateSeeds.size === keys.privateSeeds.size;
    found.push({ name, whole: isWhole ? await store.get(name) : null });
  }
  const right = found.find(({ whole }) => whole !== null)?.whole ?? wrapVaultKeys(vault.ctx, masterKey, keys);
  const wrong = found.filter(({ whole }) => whole === null || !sameBytes(whole, right));
  for (const { name } of wrong) await store.put(name, right);
  return wrong.map(({ name }) => name);
}

/** Registers a writer. The writer keeps the registration, and every session of it carries it. */
export function registerWriter(vault: Vault, publicKey: Uint8Array): Buffer {
  return encodeRegistration(vault.authority, vault.keys.vaultId, publicKey, vault.ctx.now());
}

/** Revokes a writer: sessions that it begins from now on are refused. What it wrote stays readable. */
export async function revokeWriter(vault: Vault, writerId: Uint8Array, by: string): Promise<void> {
  if (sameBytes(writerId, vault.authority.id))
    throw new CatalogError("conflict", "the authority of a vault cannot be revoked: upkeep writes in its name");
  await appendToChain(chainWriter(vault, vault.authority), async () => ({
    kind: "revoked",
    writerId,
    fromSession: (await vault.catalog.sessions()).next,
    by,
  }));
}
