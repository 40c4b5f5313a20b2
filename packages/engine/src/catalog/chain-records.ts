/**
 * Reads the records of a chain from the object store that follow a known record.
 *
 * A listing may lag behind the store, so a record is called missing only if it cannot be read by its name either.
 *
 * A recovery writes an incarnation, which may skip places: it names the record that it follows. Records in skipped places are
 * no part of the chain. They can reappear, for example with a disk that was not mounted, so they are ignored and named. The
 * newest incarnation decides first: an incarnation that is itself in a skipped place skips nothing. Copies of an incarnation
 * are in the skipped places that were empty. They are not named.
 */

import { FormatError } from "../format/bytes.ts";
import type { ChainHead, SignedChainRecord } from "../format/chain.ts";
import { assertNext, openChainRecord } from "../format/chain.ts";
import type { VaultNames } from "../format/object-names.ts";
import { chainSequence } from "../format/object-names.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";

/** What reading the chain needs. */
export interface ChainStore {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly vaultId: Uint8Array;
  readonly authorityPublicKey: Uint8Array;
}

/** An object of the chain, and what is wrong with it. */
export interface ChainFault {
  readonly name: string;
  readonly reason: string;
}

/** The part of a chain after a known record. */
export interface ChainReading {
  /** The records that follow each other, in order. */
  readonly records: readonly SignedChainRecord[];
  /** Records that are missing or wrong. Nothing after the first of them is in `records`. */
  readonly faults: readonly ChainFault[];
  /** Objects that are no part of the chain: in places that a recovery has skipped, or with names of no record. */
  readonly ignored: readonly ChainFault[];
  /** The last place that is used; that of the known record if there is none behind it. */
  readonly lastPlace: number;
}

/** Records read or written at the same time: each is a small object, and a request takes 30 ms on S3. */
export const recordsAtOnce = 32;

/**
 * Places without a record that are tried by name. A listing that lags hides the newest records, which are few. More
 * attempts would let one foreign object with a high number cost millions of requests.
 */
const maxMisses = 1000;

export interface ReadingOptions {
  /** Every place up to this one is tried by name, however many are empty. */
  readonly through?: number | undefined;
}

/** Reads what follows `head`. */
export async function readRecordsAfter(
  from: ChainStore,
  head: ChainHead,
  { through = 0 }: ReadingOptions = {},
): Promise<ChainReading> {
  const places = new ChainPlaces(from, head.sequence);
  const otherObjects = await places.list();
  await places.getUnlisted(through);
  const { records, faults, skipped } = places.follow(head);
  return { records, faults, ignored: [...otherObjects, ...skipped], lastPlace: places.last };
}

/** What is in a place: a signed record, or why it is none. `copyOf` is the place of a record of which it has a copy. */
type Place = { readonly signed: SignedChainRecord } | { readonly reason: string; readonly copyOf?: number };

/** Places between two records, both excluded. */
interface SkippedPlaces {
  readonly after: number;
  readonly before: number;
}

/** The places of a chain after `start`, with what the store has in each. */
class ChainPlaces {
  readonly #from: ChainStore;
  readonly #start: number;
  readonly #places = new Map<number, Place>();
  #last: number;

  constructor(from: ChainStore, start: number) {
    this.#from = from;
    this.#start = start;
    this.#last = start;
  }

  /** The last place that is used, or where the reading starts. */
  get last(): number {
    return this.#last;
  }

  /** Fetches every record that is listed. Returns objects whose names are not those of records. */
  async list(): Promise<ChainFault[]> {
    const { store, names } = this.#from;
    const otherObjects: ChainFault[] = [];
    const sequences: number[] = [];
    const options = this.#start === 0 ? {} : { after: names.chainRecord(this.#start) };
    for await (const { name } of store.list(names.chain, options)) {
      const sequence = chainSequence(names, name);
      if (sequence === null) otherObjects.push({ name, reason: "not the name of a record" });
      else if (sequence > this.#start) sequences.push(sequence);
    }
    for (const sequence of await this.#get(sequences)) {
      this.#places.set(sequence, { reason: "it is missing" });
      this.#last = Math.max(this.#last, sequence);
    }
    return otherObjects;
  }

  /** Tries places that were not listed by name: empty ones between others, and those after the last. */
  async getUnlisted(through: number): Promise<void> {
    let misses = 0;
    let next = this.#start + 1;
    // A skip may begin with a record that is found on the way, so it is looked up for each group of places.
    while (next <= Math.max(this.#last + 1, through) && (misses < maxMisses || next <= through)) {
      const group: number[] = [];
      const skips = this.#skips();
      for (; group.length < recordsAtOnce && next <= Math.max(this.#last + 1, through); next++) {
        const skip = skips.find(({ after, before }) => next > after && next < before);
        if (skip !== undefined && next > through) next = skip.before;
        if (!this.#places.has(next)) group.push(next);
      }
      misses += (await this.#get(group)).length;
    }
  }

  /** Goes from record to record as long as each follows the one before it. */
  follow(head: ChainHead): { records: SignedChainRecord[]; faults: ChainFault[]; skipped: ChainFault[] } {
    const { names } = this.#from;
    const skips = this.#skips();
    const records: SignedChainRecord[] = [];
    const faults: ChainFault[] = [];
    const skipped: ChainFault[] = [];
    let at = head;
    for (const [sequence, place] of [...this.#places].sort(([a], [b]) => a - b)) {
      const name = names.chainRecord(sequence);
      const skip = skips.find(({ after, before }) => sequence > after && sequence < before);
      if (skip !== undefined) {
        if (!("copyOf" in place && place.copyOf === skip.before))
          skipped.push({ name, reason: `the recovery in record ${skip.before} has skipped it` });
        continue;
      }
      const reason = reasonAgainst(place, at);
      if (reason === null && "signed" in place) {
        records.push(place.signed);
        at = place.signed.head;
        continue;
      }
      const missing = names.chainRecord(at.sequence + 1);
      if (faults.length === 0 && name !== missing) faults.push({ name: missing, reason: "it is missing" });
      faults.push({ name, reason: reason ?? "" });
    }
    return { records, faults, skipped };
  }

  /** The places that incarnations skip, from the newest incarnation to the oldest. */
  #skips(): SkippedPlaces[] {
    const skips: SkippedPlaces[] = [];
    for (const [sequence, place] of [...this.#places].sort(([a], [b]) => b - a)) {
      const isSkipped = sequence > (skips.at(-1)?.after ?? Number.POSITIVE_INFINITY);
      if (isSkipped || !("signed" in place)) continue;
      const { follows } = place.signed.record;
      if (follows < sequence - 1) skips.push({ after: follows, before: sequence });
    }
    return skips;
  }

  /** Fetches records by their names. Returns the numbers of those that are not there. */
  async #get(sequences: readonly number[]): Promise<number[]> {
    const missing: number[] = [];
    for (let at = 0; at < sequences.length; at += recordsAtOnce) {
      const group = sequences.slice(at, at + recordsAtOnce);
      const bodies = await Promise.all(group.map((each) => getRecord(this.#from, each)));
      for (const [i, sequence] of group.entries()) {
        const bytes = bodies[i] ?? null;
        if (bytes === null) missing.push(sequence);
        else this.#add(sequence, bytes);
      }
    }
    return missing;
  }

  #add(sequence: number, bytes: Uint8Array): void {
    this.#last = Math.max(this.#last, sequence);
    this.#places.set(sequence, this.#open(sequence, bytes));
  }

  #open(sequence: number, bytes: Uint8Array): Place {
    try {
      const signed = openChainRecord(bytes, this.#from.vaultId, this.#from.authorityPublicKey);
      if (signed.record.sequence !== sequence)
        return { reason: "it is another record than its name says", copyOf: signed.record.sequence };
      return { signed };
    } catch (error) {
      if (error instanceof FormatError) return { reason: error.message };
      throw error;
    }
  }
}

/** Why what is in a place is not the next record of the chain that ends with `at`; null if it is. */
function reasonAgainst(place: Place, at: ChainHead): string | null {
  if ("reason" in place) return place.reason;
  try {
    assertNext(place.signed, at);
    return null;
  } catch (error) {
    if (error instanceof FormatError) return error.message;
    throw error;
  }
}

/** The object in a place of the chain; null if there is none. */
export async function getRecord(
  { store, names }: Pick<ChainStore, "store" | "names">,
  sequence: number,
): Promise<Uint8Array | null> {
  try {
    return await store.get(names.chainRecord(sequence));
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}
