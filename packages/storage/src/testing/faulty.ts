/**
 * A double for tests: an object store that fails, stalls, loses answers and simulates crashes as a plan says.
 *
 * Every call gets a number, from 1 in the order in which calls are made, and the plan is asked what happens to it. The
 * same plan over the same calls gives the same faults, so a failing test can be run again.
 *
 * A *crash* is the end of the process that calls: the call does not answer with an error that could be handled but
 * with `StoreCrash`, and so does every call after it and every call still under way. Whether the crashing call itself
 * was done is the plan's choice (`before` or `after`). The inner store then holds what a restarted process would find.
 */

import {
  type CallOptions,
  type GetOptions,
  type ListOptions,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  ObjectStoreError,
  type ObjectStoreErrorCode,
  type PutOptions,
} from "@emanet/engine/object-store";

export type StoreOperation = "put" | "get" | "stat" | "list" | "delete";

export interface StoreCall {
  /** From 1, over all operations. */
  readonly number: number;
  readonly operation: StoreOperation;
  /** The object's name, or the list's prefix. */
  readonly name: string;
}

/**
 * - `fail`: the call is not done and rejects with this code.
 * - `lose`: the call is done and rejects with `unavailable`; a list gives its first entry before that.
 * - `delay`: the call waits first.
 * - `crash`: see the top of this file.
 */
export type Fault =
  | { readonly kind: "fail"; readonly code: ObjectStoreErrorCode }
  | { readonly kind: "lose" }
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "crash"; readonly when: "before" | "after" };

export type FaultPlan = (call: StoreCall) => Fault | null;

/** Thrown by and after a crash. Not an `ObjectStoreError`, so that nothing takes it for an answer. */
export class StoreCrash extends Error {
  override readonly name = "StoreCrash";
}

export interface FaultyOptions {
  /** Needed for `delay`. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<unknown>) | undefined;
  /** A put or delete shows in lists only this many calls later, as with stores that list eventually (default 0). */
  readonly listLag?: number | undefined;
}

/** An object store over another one, with faults. */
export class FaultyStore implements ObjectStore {
  /** Every call made so far. */
  readonly calls: StoreCall[] = [];
  readonly #inner: ObjectStore;
  readonly #plan: FaultPlan;
  readonly #options: FaultyOptions;
  readonly #recent: { readonly number: number; readonly entry: ObjectEntry; readonly shown: boolean }[] = [];
  #crashed = false;

  constructor(inner: ObjectStore, plan: FaultPlan = () => null, options: FaultyOptions = {}) {
    this.#inner = inner;
    this.#plan = plan;
    this.#options = options;
  }

  get crashed(): boolean {
    return this.#crashed;
  }

  put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    return this.#run("put", name, options.signal, async (call) => {
      const before = await this.#lagging(name);
      await this.#inner.put(name, body, options);
      // Only a new name is missing from a lagging list; a replaced one was there before.
      if (before === null) this.#remember(call, { name, size: 0 }, false);
    });
  }

  get(name: string, options: GetOptions = {}): Promise<Uint8Array> {
    return this.#run("get", name, options.signal, () => this.#inner.get(name, options));
  }

  stat(name: string, options: CallOptions = {}): Promise<ObjectStat | null> {
    return this.#run("stat", name, options.signal, () => this.#inner.stat(name, options));
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ObjectEntry, void> {
    const { call, fault } = this.#begin("list", prefix);
    await this.#applyBefore(fault, call, options.signal);
    for await (const entry of this.#options.listLag
      ? this.#lateList(prefix, options, call)
      : this.#inner.list(prefix, options)) {
      if (this.#crashed) throw new StoreCrash("the process has ended");
      yield entry;
      if (fault?.kind === "lose") break;
    }
    this.#applyAfter(fault, call);
  }

  delete(name: string, options: CallOptions = {}): Promise<void> {
    return this.#run("delete", name, options.signal, async (call) => {
      const before = await this.#lagging(name);
      await this.#inner.delete(name, options);
      if (before !== null) this.#remember(call, before, true);
    });
  }

  async #run<T>(
    operation: StoreOperation,
    name: string,
    signal: AbortSignal | undefined,
    work: (call: StoreCall) => Promise<T>,
  ): Promise<T> {
    const { call, fault } = this.#begin(operation, name);
    await this.#applyBefore(fault, call, signal);
    // A fault after the call comes also where the inner store has refused it, for example a get of a missing object.
    const result = await work(call).finally(() => this.#applyAfter(fault, call));
    return result;
  }

  #begin(operation: StoreOperation, name: string): { call: StoreCall; fault: Fault | null } {
    if (this.#crashed) throw new StoreCrash("the process has ended");
    const call = { number: this.calls.length + 1, operation, name };
    this.calls.push(call);
    return { call, fault: this.#plan(call) };
  }

  async #applyBefore(fault: Fault | null, call: StoreCall, signal: AbortSignal | undefined): Promise<void> {
    if (fault?.kind === "fail") throw new ObjectStoreError(fault.code, `planned for ${told(call)}`);
    if (fault?.kind === "crash" && fault.when === "before") this.#crash(call);
    if (fault?.kind === "delay") {
      if (this.#options.sleep === undefined) throw new Error("a plan with delays needs `sleep`");
      await this.#options.sleep(fault.ms, signal);
    }
    if (this.#crashed) throw new StoreCrash("the process has ended");
  }

  #applyAfter(fault: Fault | null, call: StoreCall): void {
    if (fault?.kind === "crash") this.#crash(call);
    // Another call may have ended the process while this one was under way.
    if (this.#crashed) throw new StoreCrash("the process has ended");
    if (fault?.kind === "lose") throw new ObjectStoreError("unavailable", `the answer to ${told(call)} got lost`);
  }

  #crash(call: StoreCall): never {
    this.#crashed = true;
    throw new StoreCrash(`the process ended at ${told(call)}`);
  }

  async #lagging(name: string): Promise<ObjectEntry | null> {
    if (!this.#options.listLag) return null;
    const stat = await this.#inner.stat(name);
    return stat === null ? null : { name, size: stat.size };
  }

  #remember({ number }: StoreCall, entry: ObjectEntry, shown: boolean): void {
    if (this.#options.listLag) this.#recent.push({ number, entry, shown });
  }

  /** What the list was some calls ago, as far as names go. */
  async *#lateList(prefix: string, options: ListOptions, call: StoreCall): AsyncGenerator<ObjectEntry, void> {
    const entries = new Map<string, ObjectEntry>();
    for await (const entry of this.#inner.list(prefix, options)) entries.set(entry.name, entry);
    const oldest = call.number - (this.#options.listLag ?? 0);
    for (const { number, entry, shown } of this.#recent.toReversed()) {
      if (number < oldest || !entry.name.startsWith(prefix) || entry.name <= (options.after ?? "")) continue;
      if (shown) entries.set(entry.name, entry);
      else entries.delete(entry.name);
    }
    for (const name of [...entries.keys()].sort()) {
      const entry = entries.get(name);
      if (entry !== undefined) yield entry;
    }
  }
}

/** A plan that does one thing to the call of this number. */
export function faultAt(number: number, fault: Fault): FaultPlan {
  return (call) => (call.number === number ? fault : null);
}

/** A plan by number of call: `{ 3: fault, 7: fault }`. */
export function scripted(faults: Readonly<Record<number, Fault>>): FaultPlan {
  return (call) => faults[call.number] ?? null;
}

/**
 * A plan in which each call fails, or loses its answer, with these probabilities.
 * `random` gives numbers from 0 to below 1; seed it, so that a failing run can be repeated.
 */
export function randomFaults(random: () => number, rates: { readonly fail: number; readonly lose: number }): FaultPlan {
  return () => {
    const drawn = random();
    if (drawn < rates.fail) return { kind: "fail", code: "unavailable" };
    return drawn < rates.fail + rates.lose ? { kind: "lose" } : null;
  };
}

/** A small seeded generator (mulberry32) for plans; not for anything secret. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function told({ number, operation, name }: StoreCall): string {
  return `call ${number}, ${operation} ${name}`;
}
