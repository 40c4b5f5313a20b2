/**
 * The chain of a vault in the object store (`format/chain.ts`): reading it, adding to it, and comparing it with the catalog.
 *
 * The store decides which record is next: a record is put with "only if absent". The catalog keeps a copy of the *head*,
 * the newest record that was applied to it. An append that finds another record in its place applies that record and tries
 * the next place. So the store and every catalog see the same changes in the same order. A catalog that missed a record (a
 * crash, an old copy) applies it before it decides anything.
 *
 * Order of writing: manifest → record → row for a completion; row `deleting` → record → row gone for a deletion; record →
 * row for a change of retention. A crash between two steps leaves a record without its row, which prune and the next append
 * repair.
 */

import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import type { ChainEntry, ChainHead, ChainRecord } from "../format/chain.ts";
import { emptyChain, encodeChainRecord, headAfter } from "../format/chain.ts";
import { ChainState } from "../format/chain-state.ts";
import { sha256 } from "../format/hash.ts";
import type { VaultNames } from "../format/object-names.ts";
import type { Signer } from "../format/signing.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Catalog } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";
import type { ChainFault, ChainReading, ChainStore } from "./chain-records.ts";
import { getRecord, readRecordsAfter, recordsAtOnce } from "./chain-records.ts";

export type { ChainFault, ChainStore } from "./chain-records.ts";

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

/** What a reading of the whole chain has found. */
export interface WholeChain {
  readonly state: ChainState;
  readonly faults: readonly ChainFault[];
  /** Objects under `chain/` that are no part of the chain. */
  readonly ignored: readonly ChainFault[];
}

/**
 * The chain as this process has read it from the store. It is kept in memory only, so a change of the database does not
 * change it. Later reads fetch what is new. If a new record does not follow the ones in memory, the chain is read again from
 * its first record: another process may have recovered the vault.
 */
export class VaultChain {
  readonly #from: ChainStore;
  #state = new ChainState();
  #reading: Promise<WholeChain> | null = null;

  constructor(from: ChainStore) {
    this.#from = from;
  }

  /** Reads every record that is new. Throws `FormatError` where one is missing or does not follow the one before it. */
  async read(): Promise<ChainState> {
    const { state, faults } = await this.readAll();
    const [first] = faults;
    if (first !== undefined) throw new FormatError(describeFault(first));
    return state;
  }

  /** Reads as far as the records follow each other, and names what does not. For rebuild. */
  async readAll(): Promise<WholeChain> {
    // One at a time: records are added in order.
    const before = this.#reading;
    this.#reading = (async () => {
      await before?.catch(() => undefined);
      return this.#readNew();
    })();
    return this.#reading;
  }

  async #readNew(): Promise<WholeChain> {
    const { head } = this.#state;
    const comparison = await compareRecord(this.#from, head);
    // The store has lost the newest record that this process has read. What the store has now may be an older state.
    if (comparison === "absent") {
      const lost = { name: this.#from.names.chainRecord(head.sequence), reason: "it is missing" };
      return { state: this.#state, faults: [lost], ignored: [] };
    }
    if (comparison === "same") {
      const reading = await readRecordsAfter(this.#from, head);
      if (reading.faults.length === 0 || head.sequence === 0) return this.#add(reading);
    }
    this.#state = new ChainState();
    return this.#add(await readRecordsAfter(this.#from, emptyChain));
  }

  #add({ records, faults, ignored }: ChainReading): WholeChain {
    for (const { record, head } of records) this.#state.add(record, head);
    return { state: this.#state, faults, ignored };
  }
}

function describeFault({ name, reason }: ChainFault): string {
  return `the vault's chain is broken at ${name}: ${reason}. Recover the vault`;
}

type WrittenEntry = Exclude<ChainEntry, { kind: "unknown" }>;

/**
 * Adds a record to the chain. `decide` runs before each attempt, when all records are applied to the catalog. What it throws
 * ends the append; what it returns is written. Returns the record's sequence number.
 *
 * Nothing is added to a broken chain, nor to a store that is older than the catalog. A record in a place that a recovery
 * has skipped would be ignored, so an append looks for records after its place.
 */
export async function appendToChain(
  writer: ChainWriter,
  decide: () => Promise<WrittenEntry> | WrittenEntry,
): Promise<number> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const head = await applyNewRecords(writer);
    const entry = await decide();
    const at = writer.now();
    const bytes = encodeChainRecord(writer.authority, writer.vaultId, head, at, entry);
    try {
      await writer.store.put(writer.names.chainRecord(head.sequence + 1), bytes, { ifAbsent: true });
    } catch (error) {
      if (!isObjectStoreError(error, "exists")) throw error;
      continue;
    }
    const record = { ...entry, sequence: head.sequence + 1, follows: head.sequence, at };
    await apply(writer.catalog, record, headAfter(record, bytes));
    return record.sequence;
  }
  throw new CatalogError("conflict", "other processes add records faster than this one");
}

/**
 * Applies every record to the catalog that the store has and the catalog has not, and returns the newest. Throws `ChainMismatchError` if the store
 * does not have the catalog's newest record, or if the chain is broken after it.
 */
export async function applyNewRecords(from: ChainStore & { readonly catalog: Catalog }): Promise<ChainHead> {
  const head = await from.catalog.chainHead();
  const difference = describeHead(from.names, head, await compareRecord(from, head));
  if (difference !== null) throw new ChainMismatchError([difference]);
  return applyRecordsAfter(from, head);
}

/** The same, where the caller knows that the store has the catalog's newest record. */
export async function applyRecordsAfter(
  from: ChainStore & { readonly catalog: Catalog },
  head: ChainHead,
): Promise<ChainHead> {
  const { records, faults } = await readRecordsAfter(from, head);
  for (const each of records) await apply(from.catalog, each.record, each.head);
  const [first] = faults;
  if (first !== undefined) throw new ChainMismatchError([describeFault(first)]);
  return records.at(-1)?.head ?? head;
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
  await catalog.advanceChain(head, record.kind === "epoch" ? record.epoch : undefined);
}

type HeadComparison = "same" | "absent" | "different";

/** Whether the newest record that the catalog knows is in the store. If it is not, says what the operator has to do. */
export function describeHead(names: VaultNames, { sequence }: ChainHead, comparison: HeadComparison): string | null {
  const name = names.chainRecord(sequence);
  if (comparison === "absent")
    return `the store is older than the catalog: ${name} is missing. Restore the newer store, or recover the vault from this one`;
  if (comparison === "different")
    return `the store and the catalog have different chains: ${name} is another record. Rebuild the catalog`;
  return null;
}

/** Whether a record is in the store as it is known. `absent` means that the store is an older copy. */
export async function compareRecord(
  from: Pick<ChainStore, "store" | "names">,
  head: ChainHead,
): Promise<HeadComparison> {
  if (head.sequence === 0) return "same";
  const bytes = await getRecord(from, head.sequence);
  if (bytes === null) return "absent";
  return sameBytes(sha256(bytes), head.hash) ? "same" : "different";
}

/** A recovery reads and fills every place that it skips. With 32 requests of 30 ms at a time this many take half an hour. */
const maxSkippedPlaces = 1_000_000;

/**
 * Adds the record of a recovery, an incarnation. Its place is after every place that is used, and it follows the newest good
 * record. Returns what was wrong with the chain before.
 *
 * Every place that is skipped is tried by its name first, up to the newest record that the catalog knows. Those that are empty
 * get a copy of the record before the record itself is written. So no append can take a skipped place, and one that is not
 * shown the record by the listing finds it by going from place to place. The catalog's head stays as it is: only a rebuild
 * makes a catalog that fits the new incarnation.
 */
export async function appendIncarnation(writer: ChainWriter, reason: string): Promise<WholeChain> {
  const { sequence: known } = await writer.catalog.chainHead();
  let used = known;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const first = await readRecordsAfter(writer, emptyChain);
    used = Math.max(used, first.lastPlace);
    assertFewSkipped(writer.names, used, first.records.at(-1)?.head.sequence ?? 0);
    const { records, faults, ignored } = await readRecordsAfter(writer, emptyChain, { through: used });
    const state = new ChainState();
    for (const { record, head } of records) state.add(record, head);
    const sequence = Math.max(used, state.head.sequence) + 1;
    const entry = { kind: "incarnation", incarnation: state.incarnation + 1, reason } as const;
    const bytes = encodeChainRecord(writer.authority, writer.vaultId, state.head, writer.now(), entry, sequence);
    await fillPlaces(writer, state.head.sequence + 1, sequence, bytes);
    try {
      await writer.store.put(writer.names.chainRecord(sequence), bytes, { ifAbsent: true });
      return { state, faults, ignored };
    } catch (error) {
      if (!isObjectStoreError(error, "exists")) throw error;
      used = sequence;
    }
  }
  throw new CatalogError("conflict", "other processes add records faster than this one");
}

/** Puts `bytes` into the empty places from `first` to the one before `end`. */
async function fillPlaces({ store, names }: ChainWriter, first: number, end: number, bytes: Uint8Array): Promise<void> {
  const fill = async (sequence: number) => {
    try {
      await store.put(names.chainRecord(sequence), bytes, { ifAbsent: true });
    } catch (error) {
      if (!isObjectStoreError(error, "exists")) throw error;
    }
  };
  for (let at = first; at < end; at += recordsAtOnce) {
    const group = Array.from({ length: Math.min(recordsAtOnce, end - at) }, (_, i) => at + i);
    await Promise.all(group.map(fill));
  }
}

function assertFewSkipped(names: VaultNames, used: number, newest: number): void {
  if (used - newest > maxSkippedPlaces)
    throw new FormatError(
      `${names.chainRecord(used)} is too far after the end of the chain. If it is no record, delete it`,
    );
}
