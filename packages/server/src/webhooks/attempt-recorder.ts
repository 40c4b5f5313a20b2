/**
 * Writes results of attempts in batches, each in one transaction with what follows from it: a webhook is disabled, people are
 * mailed, webhooks are given back. A transaction costs as much as thirty results, so batches wait for each other and a little longer. The
 * counts per hour of a webhook are written once a turn, when it is given back: they are larger than the results of a batch.
 * While the database is away, results are kept and written later, as long as the worker has the webhook.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../kernel/clock.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import {
  type AttemptResult,
  addHours,
  type ClaimedWebhook,
  type DueDelivery,
  disableWebhooks,
  emptyDurations,
  type HourCount,
  lockWebhooks,
  noteHealth,
  recordAttempts,
  releaseWebhooks,
  warnOnce,
} from "./delivery-store.ts";
import { mailAboutWebhook } from "./mail-about-webhook.ts";
import {
  durationClass,
  isGone,
  isSuccess,
  maxAttempts,
  nextAttemptAt,
  type Outcome,
  warnAtAttempt,
} from "./schedule.ts";

/** Between two batches: results that come together are written together. */
const batchMs = 50;
/** With a webhook to give back, whose next events wait for it. */
const releaseMs = 10;
/** Before a batch that failed is written again. */
const againMs = 250;
/** After so many failures in a row the results are written one by one. A database that restarts needs some seconds. */
const maxBatchFailures = 40;
const hourMs = 60 * 60 * 1000;

/** A worker's hold on a webhook for one turn. */
export interface Lease {
  readonly webhookId: string;
  /** Until when (monotonic) no other worker takes it. */
  untilMs: number;
  /** Another worker may have the webhook: results of the turn are dropped. */
  isLost: boolean;
}

interface Item {
  readonly lease: Lease;
  readonly webhook: ClaimedWebhook;
  readonly delivery: DueDelivery;
  readonly outcome: Outcome;
  readonly result: AttemptResult;
}

interface RecorderParts {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly log: Log;
}

export class AttemptRecorder {
  readonly #parts: RecorderParts;
  readonly #worker: string;
  readonly #onReleased: (leases: readonly Lease[]) => void;
  #items: Item[] = [];
  /** What the attempts of a turn add to the counts per hour. */
  readonly #hours = new WeakMap<Lease, Map<number, HourCount>>();
  /** Of webhooks whose turn is over. */
  readonly #done = new Set<Lease>();
  #writing = Promise.resolve();
  #isWriting = false;
  #isStopped = false;

  constructor(parts: RecorderParts, worker: string, onReleased: (leases: readonly Lease[]) => void) {
    this.#parts = parts;
    this.#worker = worker;
    this.#onReleased = onReleased;
  }

  /** Returns false when the webhook is not this worker's any more: its result is dropped. */
  add(lease: Lease, webhook: ClaimedWebhook, delivery: DueDelivery, at: Date, outcome: Outcome): boolean {
    if (lease.isLost) return false;
    this.#items.push({ lease, webhook, delivery, outcome, result: this.#resultOf(delivery, at, outcome) });
    this.#count(lease, webhook, at, outcome);
    this.#writeLater();
    return true;
  }

  /** The turn of a webhook is over: it is given back with its last results. */
  release(lease: Lease): void {
    this.#done.add(lease);
    this.#writeLater();
  }

  /** Resolves after the batch that is being written. */
  wrote(): Promise<void> {
    return this.#writing;
  }

  stop(): void {
    this.#isStopped = true;
  }

  #resultOf(delivery: DueDelivery, at: Date, outcome: Outcome): AttemptResult {
    const { id, attempt_count: seen, is_manual: isManual, state, next_attempt_at: scheduled } = delivery;
    const number = isManual ? seen : seen + 1;
    const shown = { number, is_manual: isManual, at, status: outcome.status, error: outcome.error };
    const common = { id, seen_count: seen, at, attempt: { ...shown, duration_ms: outcome.durationMs } };
    if (isSuccess(outcome)) return { ...common, attempt_count: number, state: "delivered", next_attempt_at: null };
    // An attempt that a person asked for leaves the schedule as it is.
    if (isManual) return { ...common, attempt_count: seen, state, next_attempt_at: scheduled };
    const chance = this.#parts.random.bytes(1).readUInt8() / 256;
    const next = nextAttemptAt(number, outcome, new Date(at.getTime() + outcome.durationMs), chance);
    return { ...common, attempt_count: number, state: next === null ? "failed" : "retrying", next_attempt_at: next };
  }

  #count(lease: Lease, { id, account_id }: ClaimedWebhook, at: Date, outcome: Outcome): void {
    const hours = this.#hours.get(lease) ?? new Map<number, HourCount>();
    this.#hours.set(lease, hours);
    const hour = new Date(Math.floor(at.getTime() / hourMs) * hourMs);
    const count = hours.getOrInsertComputed(hour.getTime(), () => ({
      ...{ webhook_id: id, account_id, hour, delivered: 0, failed: 0 },
      durations: emptyDurations(),
    }));
    count[isSuccess(outcome) ? "delivered" : "failed"] += 1;
    const place = durationClass(outcome.durationMs);
    count.durations[place] = (count.durations[place] ?? 0) + 1;
  }

  #writeLater(): void {
    if (this.#isWriting || this.#isStopped) return;
    this.#isWriting = true;
    this.#writing = this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    let failures = 0;
    while (!this.#isStopped && (this.#items.length > 0 || this.#done.size > 0)) {
      for (let waited = 0; waited < batchMs && (waited === 0 || this.#done.size === 0); waited += releaseMs)
        await delay(releaseMs);
      const items = this.#items.filter(({ lease }) => !lease.isLost);
      this.#items = [];
      for (const lease of this.#done) if (lease.isLost) this.#done.delete(lease);
      try {
        // One result that the database does not take must not stop all others.
        if (failures >= maxBatchFailures) await this.#writeEach(items.splice(0));
        await this.#writeBatch(items);
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#parts.log.warn("deliveries_unwritten", { count: items.length, ...errorFields(error) });
        this.#items = [...items, ...this.#items];
        await delay(againMs);
      }
    }
    // In the same step as the look at what is left, so that nothing is added in between.
    this.#isWriting = false;
  }

  async #writeBatch(items: readonly Item[]): Promise<void> {
    const done = [...this.#done];
    const released = new Set(await this.#write(items, done));
    // One that was locked by another transaction is given back later; its counts are written.
    for (const lease of done) this.#hours.delete(lease);
    const given = done.filter(({ webhookId }) => released.has(webhookId));
    for (const lease of given) this.#done.delete(lease);
    this.#onReleased(given);
  }

  /** Drops what cannot be written while the database answers; it stays due, and is sent again. */
  async #writeEach(items: readonly Item[]): Promise<void> {
    for (const item of items) {
      await this.#write([item], []).catch((error: unknown) => {
        this.#parts.log.error("delivery_dropped", { target_id: item.result.id, ...errorFields(error) });
      });
    }
  }

  #write(items: readonly Item[], done: readonly Lease[]): Promise<readonly string[]> {
    const context = { actor: { kind: "system" }, context: {}, signal: neverEnds } as const;
    return this.#parts.transactions.run(context, { kind: "system" }, async (tx) => {
      // Webhooks before deliveries before queues, as requests lock them.
      await lockWebhooks(tx, idsOf(items.filter(({ delivery }) => isLater(delivery))));
      const failing = items.filter(({ outcome }) => !isSuccess(outcome));
      await noteHealth(tx, idsOf(items.filter(({ outcome }) => isSuccess(outcome))), idsOf(failing));
      await this.#warn(tx, failing);
      await this.#disable(tx, failing);
      await recordAttempts(
        tx,
        items.map(({ result }) => result),
      );
      await addHours(
        tx,
        done.flatMap((lease) => [...(this.#hours.get(lease)?.values() ?? [])]),
      );
      return releaseWebhooks(
        tx,
        this.#worker,
        done.map(({ webhookId }) => webhookId),
      );
    });
  }

  async #warn(tx: Tx, failing: readonly Item[]): Promise<void> {
    const third = failing.filter(
      ({ result, delivery }) => !delivery.is_manual && result.attempt_count === warnAtAttempt,
    );
    for (const webhook of await warnOnce(tx, idsOf(third))) {
      await mailAboutWebhook(tx, this.#parts.random, webhook, "warning");
    }
  }

  async #disable(tx: Tx, failing: readonly Item[]): Promise<void> {
    const gone = failing.filter(({ outcome }) => isGone(outcome));
    const last = failing.filter(
      ({ result, delivery }) => !delivery.is_manual && result.attempt_count >= maxAttempts && result.state === "failed",
    );
    for (const [items, reason] of [[gone, "gone"] as const, [last, "delivery_failed"] as const]) {
      for (const webhook of await disableWebhooks(tx, idsOf(items), reason)) {
        await mailAboutWebhook(tx, this.#parts.random, webhook, reason);
      }
    }
  }
}

/** One that requests can change at the same time, together with others of its webhook. */
function isLater({ attempt_count: count, is_manual: isManual }: DueDelivery): boolean {
  return count > 0 || isManual;
}

function idsOf(items: readonly Item[]): readonly string[] {
  return [...new Set(items.map(({ webhook }) => webhook.id))];
}

const neverEnds = new AbortController().signal;
