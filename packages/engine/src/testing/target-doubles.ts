/**
 * Upload targets that behave like a network: calls are delayed, answered by different processes, repeated after a lost answer,
 * or answered in another order.
 */

import assert from "node:assert/strict";
import type { UploadTarget } from "../backup/upload-target.ts";
import type { SeededRandom } from "./random-tree.ts";

export type CallName = keyof UploadTarget;

/** What is done around a call of the target. `call` may be called several times. */
export type AroundCall = (name: CallName, call: () => Promise<unknown>) => Promise<unknown>;

/** A target whose calls go through `around`. `next` chooses the target that answers a call. */
export function intercept(next: () => UploadTarget, around: AroundCall): UploadTarget {
  const through = <T>(name: CallName, call: (target: UploadTarget) => Promise<T>) =>
    around(name, () => call(next())) as Promise<T>;
  return {
    begin: (base) => through("begin", (target) => target.begin(base)),
    reserveOrdinals: (request, count) => through("reserveOrdinals", (target) => target.reserveOrdinals(request, count)),
    offer: (queries) => through("offer", (target) => target.offer(queries)),
    offerNodes: (ids) => through("offerNodes", (target) => target.offerNodes(ids)),
    putPack: async (name, body) => {
      // Only a body that is kept can be sent again.
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(Buffer.from(piece));
      await through("putPack", (target) => target.putPack(name, streamOf(pieces)));
    },
    register: (unit) => through("register", (target) => target.register(unit)),
    renew: () => through("renew", (target) => target.renew()),
    complete: (draft) => through("complete", (target) => target.complete(draft)),
    abandon: () => through("abandon", (target) => target.abandon()),
  };
}

/** The same target with some other calls. */
export function withCalls(target: UploadTarget, changed: Partial<UploadTarget>): UploadTarget {
  return {
    begin: (base) => target.begin(base),
    reserveOrdinals: (request, count) => target.reserveOrdinals(request, count),
    offer: (queries) => target.offer(queries),
    offerNodes: (ids) => target.offerNodes(ids),
    putPack: (name, body) => target.putPack(name, body),
    register: (unit) => target.register(unit),
    renew: () => target.renew(),
    complete: (draft) => target.complete(draft),
    abandon: () => target.abandon(),
    ...changed,
  };
}

async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield piece;
}

/** Chooses one target after the other. */
export function inTurn(targets: readonly UploadTarget[]): () => UploadTarget {
  let calls = 0;
  return () => {
    const target = targets[calls++ % targets.length];
    if (target === undefined) throw new Error("no target");
    return target;
  };
}

/** Every call is made twice, as after a lost answer. Both answers must be the same. */
export const repeatCalls: AroundCall = async (_name, call) => {
  const lost = await call();
  const answer = await call();
  assertSameAnswer(answer, lost);
  return answer;
};

/** Asserts that two answers are equal, whatever kind of byte array they use. */
export function assertSameAnswer(actual: unknown, expected: unknown): void {
  assert.deepEqual(plain(actual), plain(expected));
}

function plain(answer: unknown): unknown {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString("hex");
  if (answer === null || typeof answer !== "object" || ArrayBuffer.isView(answer)) return answer;
  if (Array.isArray(answer)) return answer.map(plain);
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, plain(value)]));
}

/** Calls begin and end after a random number of turns, so they overtake each other. */
export function reorderCalls(random: SeededRandom): AroundCall {
  const pause = async () => {
    for (let turns = random.below(20); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
  };
  return async (_name, call) => {
    await pause();
    const answer = await call();
    await pause();
    return answer;
  };
}

/** Runs `before` in front of the call with this number (the first is 1). Returns how many calls there were. */
export function beforeCall(number: number, before: () => Promise<void>): { around: AroundCall; calls(): number } {
  let calls = 0;
  const around: AroundCall = async (_name, call) => {
    if (++calls === number) await before();
    return call();
  };
  return { around, calls: () => calls };
}

/** How long the calls of a delaying target took. */
export interface CallCounts {
  readonly byName: Map<CallName, number>;
  /** How often the client had calls in flight and could do nothing before one of them was answered. */
  rounds: number;
}

/**
 * A target that answers only when the client has nothing else to do: then it answers everything that is in flight. Each
 * such *round* is one delay of the network that the client could not hide. Works with a pool without threads and a store in
 * memory, where a client that does something takes a turn of the event loop.
 */
export function countRounds(target: UploadTarget): { readonly target: UploadTarget; readonly counts: CallCounts } {
  const counts: CallCounts = { byName: new Map(), rounds: 0 };
  const inFlight: (() => void)[] = [];
  let isWatching = false;
  let arrivals = 0;
  const watch = async () => {
    while (inFlight.length > 0) {
      for (let seen = -1; seen !== arrivals; ) {
        seen = arrivals;
        for (let turns = 0; turns < idleTurns; turns++) await new Promise((resolve) => setImmediate(resolve));
      }
      counts.rounds++;
      for (const answer of inFlight.splice(0)) answer();
      for (let turns = 0; turns < idleTurns; turns++) await new Promise((resolve) => setImmediate(resolve));
    }
    isWatching = false;
  };
  const around: AroundCall = async (name, call) => {
    counts.byName.set(name, (counts.byName.get(name) ?? 0) + 1);
    arrivals++;
    await new Promise<void>((resolve) => {
      inFlight.push(resolve);
      if (isWatching) return;
      isWatching = true;
      void watch();
    });
    return call();
  };
  return { target: intercept(() => target, around), counts };
}

/** Turns of the event loop without a new call after which a client waits: more than any step of a backup takes. */
const idleTurns = 200;

/** A target that answers every call later, by the system's timer. For benchmarks. */
export function delayCalls(delayMs: number, onCall: (name: CallName) => void = () => {}): AroundCall {
  return async (name, call) => {
    onCall(name);
    const [answer] = await Promise.all([call(), new Promise((resolve) => setTimeout(resolve, delayMs))]);
    return answer;
  };
}
