/**
 * The chain of a vault in the object store (`format/chain.ts`): reading it, adding to it, and comparing it with the catalog.
 *
 * The store decides which record is next: a record is put only where there is none. The catalog keeps a copy of the
 * *head*, the newest record that was applied to it. An append that finds its place taken applies the record that is there
 * and tries the next place. So the store and every catalog see the same changes in the same order, and a catalog that
 * missed one (a crash, an old copy) catches up before it decides anything.
 *
 * Order of writing: manifest → record → row for a completion; row `deleting` → record → row gone for a deletion; record →
 * row for a change of retention. A crash between two steps leaves a record without its row, which prune and the next append
 * repair.
 */

import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import type { ChainEntry, ChainHead, ChainRecord } from "../format/chain.ts";
import { decodeChainRecord, encodeChainRecord, headAfter } from "../format/chain.ts";
import { ChainState } from "../format/chain-state.ts";
import { sha256 } from "../format/hash.ts";
import type { VaultNames } from "../format/object-names.ts";
import type { Signer } from "../format/signing.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Catalog } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";

/** The chain in the store and the catalog disagree. Nothing is deleted until an operator has recovered the vault. */
export class ChainMismatchError extends Error {
  override readonly name = "ChainMismatchError";
  /** One sentence per difference. */
  readonly differences: readonly string[];

  constructor(differences: readonly string[]) {
    super(`the catalog and the vault's chain disagree:\n${differences.join("\n")}`);
    this.differences = differences;
  }
}

/** What reading the chain needs. */
export interface ChainStore {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly vaultId: Uint8Array;
  readonly authorityPublicKey: Uint8Array;
}

/** What adding to the chain needs. */
export interface ChainWriter extends ChainStore {
  readonly catalog: Catalog;
  readonly authority: Signer;
  now(): number;
}

/** What a chain writer is made of: a vault that the authority works on. */
export interface ChainVault {
  readonly ctx: { now(): number };
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly catalog: Catalog;
  readonly keys: { readonly vaultId: Uint8Array };
}

export function chainWriter({ ctx, store, names, catalog, keys }: ChainVault, authority: Signer): ChainWriter {
  const { vaultId } = keys;
  return { store, names, catalog, vaultId, authorityPublicKey: authority.publicKey, authority, now: () => ctx.now() };
}

/** Attempts to get a place in the chain. Each attempt that fails found another record, so more would be a loop. */
const maxAttempts = 1000;

/** Records fetched side by side when a whole chain is read: each is a small object, and a request takes 30 ms on S3. */
const recordsAtOnce = 32;

/** A record that is missing from the chain or does not belong where it is. */
export interface ChainFault {
  readonly name: string;
  readonly reason: string;
}

/**
 * The chain as this process has read it from the store. Kept in memory only: who can write the database cannot change it.
 * Later reads fetch what is new.
 */
export class VaultChain {
  readonly #from: ChainStore;
  readonly #state = new ChainState();
  #reading: Promise<readonly ChainFault[]> = Promise.resolve([]);

  constructor(from: ChainStore) {
    this.#from = from;
  }

  /** Reads every record that is new. Throws `FormatError` where one is missing or does not follow the one before it. */
  async read(): Promise<ChainState> {
    const { state, faults } = await this.readAll();
    const [first] = faults;
    if (first !== undefined) throw new FormatError(`the vault's chain is broken at ${first.name}: ${first.reason}`);
    return state;
  }

  /** Reads as far as the records follow each other, and names what does not. For rebuild. */
  async readAll(): Promise<{ readonly state: ChainState; readonly faults: readonly ChainFault[] }> {
    // One at a time: records are added in order.
    this.#reading = this.#reading.catch(() => []).then(() => this.#readNew());
    return { state: this.#state, faults: await this.#reading };
  }

  /** A fault ends with the next incarnation that follows the newest good record: a recovery has accepted the loss. */
  async #readNew(): Promise<readonly ChainFault[]> {
    const { store, names } = this.#from;
    let faults: ChainFault[] = [];
    const listed: string[] = [];
    for await (const { name } of store.list(names.chain, { after: names.chainRecord(this.#state.head.sequence) }))
      listed.push(name);
    for (let at = 0; at < listed.length; at += recordsAtOnce) {
      const batch = listed.slice(at, at + recordsAtOnce);
      const bodies = await Promise.all(batch.map((name) => getObject(store, name)));
      for (const [i, name] of batch.entries()) faults = this.#step(name, bodies[i] ?? null, faults);
    }
    // A listing may lag behind the store.
    while (faults.length === 0) {
      const next = names.chainRecord(this.#state.head.sequence + 1);
      const bytes = await getObject(store, next);
      if (bytes === null) break;
      faults = this.#step(next, bytes, faults);
    }
    return faults;
  }

  #step(name: string, bytes: Uint8Array | null, faults: ChainFault[]): ChainFault[] {
    const { vaultId, authorityPublicKey, names } = this.#from;
    const { head } = this.#state;
    try {
      if (bytes === null) throw new FormatError("it is missing");
      const record = decodeChainRecord(bytes, vaultId, head, authorityPublicKey);
      if (name !== names.chainRecord(record.sequence)) throw new FormatError("it is another record than its name says");
      this.#state.add(record, headAfter(record, bytes));
      return [];
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      const missing = names.chainRecord(head.sequence + 1);
      const gap = faults.length === 0 && name !== missing ? [{ name: missing, reason: "it is missing" }] : [];
      return [...faults, ...gap, { name, reason: error.message }];
    }
  }
}

/**
 * Adds a record to the chain. `decide` runs before each attempt, with the catalog caught up: what it throws ends the append,
 * what it returns is written. Returns the record's sequence number.
 */
export async function appendToChain(
  writer: ChainWriter,
  decide: () => Promise<Exclude<ChainEntry, { kind: "unknown" }>> | Exclude<ChainEntry, { kind: "unknown" }>,
): Promise<number> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const head = await writer.catalog.chainHead();
    const entry = await decide();
    const bytes = encodeChainRecord(writer.authority, writer.vaultId, head, writer.now(), entry);
    try {
      await writer.store.put(writer.names.chainRecord(head.sequence + 1), bytes, { ifAbsent: true });
    } catch (error) {
      if (!isObjectStoreError(error, "exists")) throw error;
      await catchUp(writer);
      continue;
    }
    const record = { ...entry, sequence: head.sequence + 1, at: writer.now() };
    await apply(writer.catalog, record, headAfter(record, bytes));
    return record.sequence;
  }
  throw new CatalogError("conflict", "the chain grows all the time");
}

/** Applies every record to the catalog that the store has and the catalog has not. */
export async function catchUp(from: ChainStore & { readonly catalog: Catalog }): Promise<void> {
  for (;;) {
    const head = await from.catalog.chainHead();
    const bytes = await getRecord(from, head.sequence + 1);
    if (bytes === null) return;
    const record = decodeChainRecord(bytes, from.vaultId, head, from.authorityPublicKey);
    await apply(from.catalog, record, headAfter(record, bytes));
  }
}

/** For completions and deletions the catalog has other steps. */
async function apply(catalog: Catalog, record: ChainRecord, head: ChainHead): Promise<void> {
  if (record.kind === "revoked") await catalog.revokeWriter(hex(record.writerId), record.fromSession);
  if (record.kind === "retention") {
    try {
      await catalog.changeRetention(record.snapshot, record.retention, record.sequence);
    } catch (error) {
      // Deleted since, or being deleted: its retention no longer matters.
      const isGone = error instanceof CatalogError && (error.code === "unknown_snapshot" || error.code === "conflict");
      if (!isGone) throw error;
    }
  }
  await catalog.advanceChain(head);
}

/** Whether the newest record that the catalog knows is in the store: `absent` means that the store is an older copy. */
export async function compareHead(
  from: Pick<ChainStore, "store" | "names"> & { readonly catalog: Catalog },
): Promise<"same" | "absent" | "different"> {
  const head = await from.catalog.chainHead();
  if (head.sequence === 0) return "same";
  const bytes = await getObject(from.store, from.names.chainRecord(head.sequence));
  if (bytes === null) return "absent";
  return sameBytes(sha256(bytes), head.hash) ? "same" : "different";
}

/** The record in a place of the chain; null if there is none. */
async function getRecord({ store, names }: ChainStore, sequence: number): Promise<Uint8Array | null> {
  return getObject(store, names.chainRecord(sequence));
}

async function getObject(store: ObjectStore, name: string): Promise<Uint8Array | null> {
  try {
    return await store.get(name);
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

/** Records that a vault goes on after a loss: behind every place that is used, following the newest good record. */
export async function appendIncarnation(writer: ChainWriter, chain: VaultChain, reason: string): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { state } = await chain.readAll();
    let sequence = state.head.sequence + 1;
    for await (const { name } of writer.store.list(writer.names.chain)) {
      const used = Number(name.slice(writer.names.chain.length));
      if (Number.isSafeInteger(used)) sequence = Math.max(sequence, used + 1);
    }
    const entry = { kind: "incarnation", incarnation: state.incarnation + 1, reason } as const;
    const bytes = encodeChainRecord(writer.authority, writer.vaultId, state.head, writer.now(), entry, sequence);
    try {
      await writer.store.put(writer.names.chainRecord(sequence), bytes, { ifAbsent: true });
    } catch (error) {
      if (isObjectStoreError(error, "exists")) continue;
      throw error;
    }
    await writer.catalog.advanceChain(headAfter({ sequence }, bytes));
    return;
  }
  throw new CatalogError("conflict", "the chain grows all the time");
}
