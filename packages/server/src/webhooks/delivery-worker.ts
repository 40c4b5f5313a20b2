/**
 * Sends deliveries. Any number of workers share the queues of a database. A worker *claims* webhooks that have something due, and
 * has each alone for one *turn*: it sends first attempts one after the other, in the order of the account's stream, and
 * beside them a few later ones. Results are written in batches, and with them the webhooks are given back.
 *
 * A worker has a webhook by a lease. When it dies, or does not reach the database, others take the webhook after the lease, and
 * send again what was not written: the same `webhook-id` and the same body. It begins no attempt without a lease that is long
 * enough, so first attempts never come from two workers at a time.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type Clock, monotonicMs, type Random } from "../kernel/clock.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { AttemptRecorder, type Lease } from "./attempt-recorder.ts";
import type { DeliveryCounts } from "./delivery-metrics.ts";
import {
  type ClaimedWebhook,
  claimWebhooks,
  type DueDelivery,
  disableWebhooks,
  leaseMs,
  loadDue,
  loadWebhooks,
  nextDueAt,
  postponeWebhooks,
  renewLeases,
} from "./delivery-store.ts";
import { HostSlots } from "./host-slots.ts";
import type { HttpSender } from "./http-sender.ts";
import { mailAboutWebhook } from "./mail-about-webhook.ts";
import { isSuccess, type Outcome } from "./schedule.ts";
import { signatureHeaders } from "./signatures.ts";
import { standingOf } from "./standing.ts";
import { openSecret } from "./store.ts";

/**
 * Between two looks at the queues while there is something to do, and for {@link activeMs} after the last claim or notice. A commit of
 * this process, the end of a turn and a moved clock wake it at once.
 */
const lookMs = 200;
/**
 * The same for {@link busyMs} after the last claim: where events come one after the other, the next one must not wait for a whole
 * {@link lookMs} because a look came a moment too early.
 */
const busyLookMs = 25;
const busyMs = 1_000;
/** Longer than the second in which commits of other processes notify at most once. */
const activeMs = 3_000;
/** Between two looks while nothing happens: for a notice that was lost, and for webhooks of a worker that died. */
const idleMs = 5_000;
/** Webhooks at a time. Most of the time of an attempt is waiting. */
const maxHeld = 256;
/** Of these, webhooks whose last attempt was slow or failed: a receiver that hangs leaves places for the others. */
const maxSlow = maxHeld / 2;
/**
 * A turn ends after so many first attempts, or after this time: then others have their turn. It is twice what the last turn of the webhook
 * sent, within these limits: what is loaded and not sent is loaded again.
 */
const firstsPerTurn = { least: 50, most: 500 } as const;
const latersPerTurn = 20;
const turnMs = 2_000;
/** Later attempts of one webhook at a time, beside the one first attempt. */
const latersAtOnce = 3;
/** An attempt that took longer makes its webhook a slow one. */
const slowMs = 1_000;
const renewMs = leaseMs / 3;
/** Left of a lease when an attempt begins: the next worker must not begin before it is on its way. */
const leaseReserveMs = 3_000;
/** An account that may not use webhooks is looked at again after this. */
const postponeMs = 60_000;
/** Webhooks that are remembered, to share places and to load well. */
const maxRemembered = 10_000;

export interface WorkerParts {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly sender: HttpSender;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly counts: DeliveryCounts;
}

/** A webhook that this worker has, until its results are written and it is given back. */
interface Turn {
  readonly lease: Lease;
  readonly webhook: ClaimedWebhook;
  readonly secrets: readonly string[];
  readonly target: URL;
  readonly firsts: readonly DueDelivery[];
  readonly laters: readonly DueDelivery[];
  readonly endsAtMs: number;
}

export class DeliveryWorker {
  readonly #parts: WorkerParts;
  readonly #id: string;
  readonly #hosts = new HostSlots();
  readonly #recorder: AttemptRecorder;
  /** By webhook. */
  readonly #held = new Map<string, Lease>();
  readonly #slow = new Set<string>();
  /** First attempts of the last turn, of webhooks that sent many. */
  readonly #lastSent = new Map<string, number>();
  #woken = Promise.withResolvers<void>();
  #isStopping = false;
  #activeUntilMs = 0;
  #busyUntilMs = 0;
  /** As of the last look. */
  #nextDueAt: Date | null = null;
  #renewedAtMs = monotonicMs();
  #loop: Promise<void> = Promise.resolve();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#id = parts.random.uuid();
    this.#recorder = new AttemptRecorder(parts, this.#id, (leases) => this.#onReleased(leases));
    parts.counts.watch(() => this.#hosts.inFlight);
  }

  start(): void {
    const { clock, transactions } = this.#parts;
    clock.onMove?.(() => this.#wake());
    transactions.onChange("clock", () => this.#wake());
    transactions.onChange("delivery", () => this.#wake());
    this.#loop = this.#run();
  }

  /** Takes no more, lets attempts in flight end, writes their results. What is left after `ms` is sent again by others. */
  async stop(ms: number): Promise<void> {
    this.#isStopping = true;
    this.#wake();
    const endsAtMs = monotonicMs() + ms;
    while (this.#held.size > 0 && monotonicMs() < endsAtMs) await Promise.race([this.#recorder.wrote(), delay(50)]);
    this.#recorder.stop();
    await this.#loop;
  }

  #wake(): void {
    this.#activeUntilMs = monotonicMs() + activeMs;
    this.#woken.resolve();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#woken = Promise.withResolvers<void>();
      let isMore = false;
      try {
        await this.#parts.clock.sync?.();
        await this.#renew();
        isMore = await this.#claim();
      } catch (error) {
        this.#parts.log.warn("deliveries_unread", errorFields(error));
      }
      if (!isMore) await this.#pause();
    }
  }

  /** Until the next look. */
  async #pause(): Promise<void> {
    const pause = new AbortController();
    const { signal } = pause;
    await Promise.race([this.#woken.promise, delay(this.#pauseMs(), undefined, { signal }).catch(() => undefined)]);
    pause.abort();
  }

  #pauseMs(): number {
    if (monotonicMs() < this.#busyUntilMs) return busyLookMs;
    if (monotonicMs() < this.#activeUntilMs || this.#held.size > 0) return lookMs;
    const dueInMs = this.#nextDueAt === null ? idleMs : this.#nextDueAt.getTime() - this.#parts.clock.now().getTime();
    return Math.min(idleMs, Math.max(lookMs, dueInMs));
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const context = { actor: { kind: "system" }, context: {}, signal: neverEnds } as const;
    return this.#parts.transactions.run(context, { kind: "system" }, work);
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0 || monotonicMs() < this.#renewedAtMs + renewMs) return;
    const askedAtMs = monotonicMs();
    const renewed = await this.#write((tx) => renewLeases(tx, this.#id, [...this.#held.keys()]));
    this.#renewedAtMs = askedAtMs;
    for (const id of renewed) {
      const lease = this.#held.get(id);
      if (lease !== undefined) lease.untilMs = askedAtMs + leaseMs;
    }
    for (const lease of this.#held.values()) if (lease.untilMs < monotonicMs()) this.#lose(lease);
  }

  /** Another worker may have it by now. */
  #lose(lease: Lease | undefined): void {
    if (lease === undefined) return;
    lease.isLost = true;
    this.#held.delete(lease.webhookId);
    this.#parts.log.warn("webhook_lease_lost", { target_id: lease.webhookId });
  }

  /** Takes webhooks and begins their turns. Returns whether there may be more. */
  async #claim(): Promise<boolean> {
    const free = maxHeld - this.#held.size;
    if (free <= 0) return false;
    const askedAtMs = monotonicMs();
    const held = [...this.#held.keys()];
    const slowHeld = held.filter((id) => this.#slow.has(id)).length;
    const except = slowHeld >= maxSlow ? [...held, ...this.#slow] : held;
    const isIdle = monotonicMs() >= this.#activeUntilMs;
    const { webhooks, due, ids } = await this.#write(async (tx) => {
      const [claimed, nextDue] = await Promise.all([
        claimWebhooks(tx, this.#id, { most: free, except }),
        isIdle ? nextDueAt(tx) : null,
      ]);
      this.#nextDueAt = nextDue;
      if (claimed.length === 0) return { ids: claimed, webhooks: [], due: [] };
      const wanted = claimed.map((id) => ({ id, firsts: this.#firstsOf(id) }));
      const [loaded, deliveries] = await Promise.all([loadWebhooks(tx, claimed), loadDue(tx, wanted, latersPerTurn)]);
      return { ids: claimed, webhooks: loaded, due: deliveries };
    });
    if (ids.length > 0) {
      this.#activeUntilMs = monotonicMs() + activeMs;
      this.#busyUntilMs = monotonicMs() + busyMs;
    }
    for (const id of ids) this.#held.set(id, { webhookId: id, untilMs: askedAtMs + leaseMs, isLost: false });
    try {
      await this.#refuse(webhooks);
    } catch (error) {
      // Their turns do not begin, so nobody would give them back.
      for (const id of ids) this.#lose(this.#held.get(id));
      throw error;
    }
    const byWebhook = Map.groupBy(due, ({ webhook_id: id }) => id);
    for (const webhook of webhooks) {
      const lease = this.#held.get(webhook.id);
      if (lease === undefined) continue;
      const isOff = webhook.state === "disabled" || webhook.removed_at !== null || standingOf(webhook) !== "send";
      const deliveries = isOff ? [] : (byWebhook.get(webhook.id) ?? []);
      void this.#takeTurn(lease, webhook, deliveries);
    }
    return ids.length === free;
  }

  /** Webhooks that may not send: their account has them off, or their creator lost the right. */
  async #refuse(webhooks: readonly ClaimedWebhook[]): Promise<void> {
    const off = webhooks.filter(({ state }) => state === "enabled");
    const waiting = off.filter((webhook) => standingOf(webhook) === "wait").map(({ id }) => id);
    const lost = off.filter((webhook) => standingOf(webhook) === "disable").map(({ id }) => id);
    if (waiting.length > 0) {
      await this.#write((tx) => postponeWebhooks(tx, this.#id, waiting, new Date(tx.now.getTime() + postponeMs)));
      for (const id of waiting) this.#held.delete(id);
    }
    if (lost.length > 0) {
      await this.#write(async (tx) => {
        for (const webhook of await disableWebhooks(tx, lost, "creator_lost_access")) {
          await mailAboutWebhook(tx, this.#parts.random, webhook, "creator_lost_access");
        }
      });
    }
  }

  async #takeTurn(lease: Lease, webhook: ClaimedWebhook, due: readonly DueDelivery[]): Promise<void> {
    try {
      const turn: Turn = {
        lease,
        webhook,
        secrets: webhook.secrets.map((secret) => openSecret(this.#parts.secrets, webhook.id, secret)),
        target: new URL(webhook.url),
        firsts: due.filter(isFirst),
        laters: due.filter((delivery) => !isFirst(delivery)),
        endsAtMs: monotonicMs() + turnMs,
      };
      await Promise.all([this.#sendInOrder(turn), this.#sendLaters(turn)]);
    } catch (error) {
      this.#parts.log.error("webhook_turn_failed", { target_id: webhook.id, ...errorFields(error) });
    }
    this.#recorder.release(lease);
  }

  /** Whether another attempt of the turn may begin. */
  #mayBegin({ lease, endsAtMs }: Pick<Turn, "lease" | "endsAtMs">): boolean {
    const nowMs = monotonicMs();
    return !this.#isStopping && !lease.isLost && nowMs < endsAtMs && nowMs < lease.untilMs - leaseReserveMs;
  }

  async #sendInOrder(turn: Turn): Promise<void> {
    let sent = 0;
    for (const delivery of turn.firsts) {
      if (!(await this.#attempt(turn, delivery))) break;
      sent += 1;
    }
    const { id } = turn.webhook;
    if (sent * 2 <= firstsPerTurn.least) this.#lastSent.delete(id);
    else if (this.#lastSent.size < maxRemembered) this.#lastSent.set(id, sent);
  }

  #firstsOf(id: string): number {
    return Math.min(firstsPerTurn.most, Math.max(firstsPerTurn.least, 2 * (this.#lastSent.get(id) ?? 0)));
  }

  async #sendLaters(turn: Turn): Promise<void> {
    const left = turn.laters.values();
    const sendNext = async () => {
      for (const delivery of left) if (!(await this.#attempt(turn, delivery))) return;
    };
    await Promise.all(Array.from({ length: latersAtOnce }, sendNext));
  }

  /** Makes an attempt and hands its result to the recorder. False when the turn is over. */
  async #attempt(turn: Turn, delivery: DueDelivery): Promise<boolean> {
    if (!this.#mayBegin(turn)) return false;
    const { lease, webhook, target } = turn;
    const isSlow = this.#slow.has(webhook.id);
    return this.#hosts.run(target.host, isSlow, async () => {
      // It may have waited for its place at the host.
      if (!this.#mayBegin({ lease, endsAtMs: Number.POSITIVE_INFINITY })) return false;
      const at = this.#parts.clock.now();
      const startedMs = monotonicMs();
      const outcome = delivery.payload === null ? eventExpired : await this.#send(turn, delivery, delivery.payload, at);
      this.#remember(webhook.id, isSuccess(outcome) && monotonicMs() - startedMs <= slowMs);
      this.#parts.counts.attempted(
        outcome,
        delivery.attempt_count === 0 ? at.getTime() - delivery.created_at.getTime() : null,
      );
      // After 410 nothing more is sent.
      return this.#recorder.add(lease, webhook, delivery, at, outcome) && outcome.status !== 410;
    });
  }

  #send({ target, secrets }: Turn, delivery: DueDelivery, payload: string, at: Date): Promise<Outcome> {
    const body = Buffer.from(payload);
    const timestamp = Math.floor(at.getTime() / 1000);
    const headers = {
      ...{ "content-type": "application/json", "user-agent": "Emanet-Webhooks/1", accept: "*/*" },
      ...signatureHeaders(secrets, { eventId: delivery.event_id, timestamp, body }),
    };
    return this.#parts.sender.send({ target, headers, body }, at);
  }

  #remember(id: string, isFast: boolean): void {
    if (isFast) this.#slow.delete(id);
    else if (this.#slow.size < maxRemembered) this.#slow.add(id);
  }

  #onReleased(leases: readonly Lease[]): void {
    for (const { webhookId } of leases) this.#held.delete(webhookId);
    this.#wake();
  }
}

function isFirst({ attempt_count: count, is_manual: isManual }: DueDelivery): boolean {
  return count === 0 && !isManual;
}

const eventExpired: Outcome = { status: null, error: "expired", durationMs: 0, retryAfterMs: null };

const neverEnds = new AbortController().signal;
