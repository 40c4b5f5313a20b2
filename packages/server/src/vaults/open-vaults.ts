/**
 * The vaults that this process has open: store, catalog and keys, shared by all requests and jobs.
 *
 * The keys of a vault are in the object store, wrapped by a key that derives from the service's root key and the vault's
 * id. The first use of a vault makes its catalog and its keys. Several processes may do so at once, and a process may end
 * in between: a row says that the catalog is made, in the same commit; one of several key objects is kept; and
 * `keys_made_at` is set when all is there. From then on a vault without its key object is an error and gets no new keys.
 */

import {
  type Catalog,
  type EngineContext,
  openOrCreateVault,
  openVault,
  rotateVaultKeys,
  type Vault,
  vaultNames,
} from "@emanet/engine";
import { isObjectStoreError, type ObjectStore } from "@emanet/engine/object-store";
import { type CatalogListeners, createCatalogRow, type KnownVault, postgresCatalog } from "../catalog/index.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { Problem } from "../kernel/problems.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { StartError } from "../kernel/start-error.ts";
import type { Transactions, Tx, TxContext } from "../kernel/tx.ts";
import type { RootKeyCopy } from "../keys/index.ts";
import { storageProblem } from "./storage-problems.ts";
import { claimCatalog, findVaultToOpen, hasVaultWithKeys, noteKeysMade } from "./vault-store.ts";

export interface Vaults {
  /**
   * The vault of an account, open. Throws `not_found` where the account has no such vault. With a context the catalog's
   * steps act in its name and end with its signal; without one the service acts.
   */
  open(accountId: string, vaultId: string, context?: TxContext): Promise<Vault>;
  /** The same for its erasure, after which nobody else can open it. Null: the store has no keys of it, they were never made or are destroyed. */
  openToErase(accountId: string, vaultId: string): Promise<Vault | null>;
  /** Draws a new key pair (`rotateVaultKeys`). `written` commits that the vault has it; then every process opens the vault anew. */
  rotateKeys(accountId: string, vaultId: string, written: (epoch: number) => Promise<void>): Promise<void>;
  /** Registers what another domain does in the transactions of every catalog; at the start, before the first request. */
  listen(listeners: CatalogListeners): void;
  /** Registers what must be done before the keys of a vault are made, its first objects in the store; at the start. */
  beforeKeys(work: BeforeKeys): void;
  /** Opens the vault anew at its next use: after its keys were rotated, or when it is erased. */
  forget(accountId: string, vaultId: string): void;
  /** Removes what killed processes left in the object store of objects that they were writing, once it is old. */
  removeLeftovers(): Promise<void>;
  /** The time by the object store's own clock, in milliseconds since 1970; null: it has none. */
  storeTime(): Promise<number | null>;
}

type BeforeKeys = (accountId: string) => Promise<void>;

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly vaults: Vaults;
  }
}

interface Sources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly storage: { open(): Promise<ObjectStore>; removeLeftovers(): Promise<void>; time(): Promise<number | null> };
  readonly rootKeyCopy: RootKeyCopy;
}

/** What is kept of an open vault, keys and the state of its chain, is some ten KiB. More vaults are opened again. */
const maxOpenVaults = 1000;

/** Opens the object store and checks that it is the one of this database. Rejects with a StartError. */
export async function openVaults(sources: Sources): Promise<Vaults> {
  const store = await sources.storage.open();
  await checkStore(sources, store);
  const registered: CatalogListeners[] = [];
  const first: BeforeKeys[] = [];
  const listeners = joined(registered);
  const opened = new Map<string, OpenedVault>();
  const catalogOf = (accountId: string, vaultId: string, known: KnownVault, context?: TxContext): Catalog =>
    postgresCatalog({ ...sources, accountId, vaultId, listeners, known, context });
  const openNow = (accountId: string, vaultId: string): OpenedVault => {
    const known = { number: null };
    const place = { store, accountId, vaultId };
    return { known, vault: openOne(sources, place, catalogOf(accountId, vaultId, known), first) };
  };
  const open = async (accountId: string, vaultId: string, context?: TxContext): Promise<Vault> => {
    const key = `${accountId} ${vaultId}`;
    const one = opened.get(key) ?? openNow(accountId, vaultId);
    // The one used last is the last in the map. The first is forgotten; who uses it keeps it.
    opened.delete(key);
    opened.set(key, one);
    const [oldest = key] = opened.keys();
    if (opened.size > maxOpenVaults) opened.delete(oldest);
    const vault = await one.vault.catch((error: unknown) => {
      if (opened.get(key) === one) opened.delete(key);
      throw storageProblem(error);
    });
    return context === undefined ? vault : { ...vault, catalog: catalogOf(accountId, vaultId, one.known, context) };
  };
  // Another process has rotated the keys of a vault of the account, or erases one.
  sources.transactions.onChange("vault", (changed) => {
    for (const key of opened.keys()) if (changed === null || key.startsWith(`${changed} `)) opened.delete(key);
  });
  return {
    listen: (more) => void registered.push(more),
    beforeKeys: (work) => void first.push(work),
    forget: (accountId, vaultId) => void opened.delete(`${accountId} ${vaultId}`),
    removeLeftovers: () => sources.storage.removeLeftovers(),
    storeTime: () => sources.storage.time(),
    async rotateKeys(accountId, vaultId, written) {
      const key = sources.secrets.digest("vault-keys", vaultId);
      try {
        await rotateVaultKeys(await open(accountId, vaultId), key, written);
      } catch (error) {
        // Another process draws one at this moment.
        throw isObjectStoreError(error, "exists") ? new Problem("state_conflict") : storageProblem(error);
      }
    },
    async openToErase(accountId, vaultId) {
      const { keys } = vaultNames(vaultBytes(vaultId));
      let hasKeys = false;
      for await (const _ of store.list(keys)) {
        hasKeys = true;
        break;
      }
      if (!hasKeys) return null;
      const access = { ctx: engineContext(sources), store, catalog: catalogOf(accountId, vaultId, { number: null }) };
      return openVault(access, sources.secrets.digest("vault-keys", vaultId), vaultBytes(vaultId));
    },
    open,
  };
}

interface OpenedVault {
  readonly known: KnownVault;
  readonly vault: Promise<Vault>;
}

interface VaultPlace {
  readonly store: ObjectStore;
  readonly accountId: string;
  readonly vaultId: string;
}

const ofService: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };

async function openOne(
  sources: Sources,
  place: VaultPlace,
  catalog: Catalog,
  first: readonly BeforeKeys[],
): Promise<Vault> {
  const { transactions, secrets, random, log } = sources;
  const { store, accountId, vaultId } = place;
  const run = <T>(work: (tx: Tx) => Promise<T>) => transactions.run(ofService, { kind: "account", accountId }, work);
  const row = await run(async (tx) => {
    const found = await findVaultToOpen(tx, accountId, vaultId);
    if (found === undefined) throw new Problem("not_found");
    if (await claimCatalog(tx, accountId, vaultId)) await createCatalogRow(tx, { accountId, vaultId, random });
    return found;
  });
  const access = { ctx: engineContext(sources), store, catalog };
  const key = secrets.digest("vault-keys", vaultId);
  if (row.keys_made_at !== null) {
    return openVault(access, key, vaultBytes(vaultId), () => log.error("key_object_refused", { target_id: vaultId }));
  }
  for (const work of first) await work(accountId);
  const vault = await openOrCreateVault(access, key, vaultBytes(vaultId));
  await run((tx) => noteKeysMade(tx, accountId, vaultId));
  return vault;
}

/** The engine's id of a vault. */
export function vaultBytes(vaultId: string): Buffer {
  return Buffer.from(vaultId.replaceAll("-", ""), "hex");
}

function engineContext({ clock, random }: Sources): EngineContext {
  return { now: () => clock.now().getTime(), random: (length) => random.bytes(length) };
}

/** An unmounted disk or a mistyped bucket looks like an empty store. Nothing may be written to it then. */
async function checkStore({ transactions, rootKeyCopy }: Sources, store: ObjectStore): Promise<void> {
  if (await rootKeyCopy.isIn(store)) return;
  if (await transactions.read(ofService, { kind: "system" }, (tx) => hasVaultWithKeys(tx))) {
    throw new StartError(
      "storage_of_another_service",
      "The store of EMANET_STORAGE has nothing of this database, which has vaults in a store. Mount the disk, or set EMANET_STORAGE to the store that was used until now. " +
        "If it is the right store and only its copy of the root key (service/root-key/…) is missing, run `npm start -- rewrap`, which writes a new one.",
    );
  }
  await rootKeyCopy.writeTo(store);
}

/** Calls each of the listeners, in the order in which they were registered. */
function joined(all: readonly CatalogListeners[]): CatalogListeners {
  return {
    async unitAdded(tx, unit) {
      for (const one of all) await one.unitAdded?.(tx, unit);
    },
    async committed(tx, commit) {
      for (const one of all) await one.committed?.(tx, commit);
    },
    async ended(tx, end) {
      for (const one of all) await one.ended?.(tx, end);
    },
    async packDeleted(tx, deleted) {
      for (const one of all) await one.packDeleted?.(tx, deleted);
    },
  };
}
