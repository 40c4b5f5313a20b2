/**
 * What the service has promised: every completed snapshot with all of its bytes, and how long each must stay. It has its own rules,
 * written from the contract, and asks the service only when a snapshot was completed.
 *
 * Where an answer was lost, both outcomes are allowed until the harness knows more. So it never demands what was not promised, and a
 * demand that fails is a fault of the service.
 */

import assert from "node:assert/strict";
import type { Upload } from "../../crash/testing/uploads.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The harness moves the clock back by so much at most: the service may have noted an earlier time than the harness. */
const backMs = 3 * hourMs;
/** The contract's: what could remove something waits 72 hours. */
export const waitMs = 72 * hourMs - backMs;
/** The contract's: nothing younger expires. */
const youngDays = 14;
/** Days are those of Istanbul. */
const istanbulMs = 3 * hourMs;
/** The contract's: one of so many snapshots of a vault expires on a day. */
const dailyShare = 10;

export interface Snapshot {
  readonly id: string;
  readonly upload: Upload;
  readonly sourceId: string;
  readonly completedAt: number;
  /** When a person has first tried to delete it; null: nobody has, or it was brought back. */
  deletedAt: number | null;
  /** Retention could have ended when it was deleted: what has expired does not come back. */
  couldExpire: boolean;
  /** `maybe`: the answer was lost. */
  held: "no" | "maybe" | "yes";
  /** From when on a release may have ended the hold. */
  releasedFrom: number;
  lockedUntil: number;
  /** It was allowed to go, and it is not there any more. */
  isGone: boolean;
  /** Somebody acts on it: another act has to wait. */
  isBusy: boolean;
}

interface PolicyChange {
  /** Days of which the first and last snapshot stay; null: everything stays. */
  readonly keepLast: number | null;
  /** The earliest time from which it may hold. */
  readonly from: number;
}

export class Oracle {
  readonly #uploads = new Map<string, Upload>();
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #policies = new Map<string, PolicyChange[]>();
  readonly #latest: () => number;

  /** `latest`: the latest time that the clock has shown. What was due then may have happened. */
  constructor(latest: () => number) {
    this.#latest = latest;
  }

  /** An upload that may become a snapshot, by the reference that it is sent with. */
  mayCome(reference: string, upload: Upload): void {
    this.#uploads.set(reference, upload);
  }

  get snapshots(): readonly Snapshot[] {
    return [...this.#snapshots.values()];
  }

  find(id: string): Snapshot | undefined {
    return this.#snapshots.get(id);
  }

  /** A snapshot that the service has as completed, acknowledged or not. */
  adopt({
    id,
    reference,
    sourceId,
    completedAt,
  }: {
    readonly id: string;
    readonly reference: string;
    readonly sourceId: string;
    readonly completedAt: number;
  }): void {
    if (this.#snapshots.has(id)) return;
    const upload =
      this.#uploads.get(reference) ?? assert.fail(`the snapshot ${id} has an unknown reference ${reference}`);
    const none = {
      deletedAt: null,
      couldExpire: false,
      held: "no",
      releasedFrom: Number.POSITIVE_INFINITY,
      lockedUntil: 0,
      isGone: false,
      isBusy: false,
    } as const;
    this.#snapshots.set(id, { id, upload, sourceId, completedAt, ...none });
  }

  /** A change that can remove something earlier holds after 72 hours, any other one at once. */
  policyAsked(sourceId: string, keepLast: number | null, now: number): void {
    const changes = this.#policies.get(sourceId) ?? [];
    const from = keepLast === null ? now : now + waitMs;
    this.#policies.set(sourceId, [...changes, { keepLast, from }]);
  }

  /** Why it must be there; null: it may have gone. */
  promiseOf(one: Snapshot): string | null {
    const now = this.#latest();
    if (one.isGone) return null;
    if (one.held === "yes" && now < one.releasedFrom) return "held";
    if (one.lockedUntil > now) return "locked";
    if (one.deletedAt !== null)
      return now < one.deletedAt + waitMs && !one.couldExpire ? "deleted within 72 hours" : null;
    const rules = (this.#policies.get(one.sourceId) ?? []).filter(({ from }) => from <= now);
    for (const { keepLast } of rules) if (keepLast !== null && !this.#keeps(one, keepLast, now)) return null;
    return "kept by every policy that may hold";
  }

  #keeps(one: Snapshot, keepLast: number, now: number): boolean {
    if (dayOf(now) - dayOf(one.completedAt) <= youngDays) return true;
    const ofSource = this.snapshots
      // What is deleted counts for no rule; what may have been brought back by a recovery does.
      .filter(({ sourceId, isGone }) => sourceId === one.sourceId && !isGone)
      .sort((a, b) => b.completedAt - a.completedAt);
    if (ofSource.filter(({ deletedAt }) => deletedAt === null)[0] === one) return true;
    const days = [...new Set(ofSource.map(({ completedAt }) => dayOf(completedAt)))].slice(0, keepLast);
    const ofDay = ofSource.filter(({ completedAt }) => dayOf(completedAt) === dayOf(one.completedAt));
    return days.includes(dayOf(one.completedAt)) && (ofDay[0] === one || ofDay.at(-1) === one);
  }

  /** It is not there. Throws if it was promised. */
  isAway(one: Snapshot, what: string): void {
    const promise = this.promiseOf(one);
    if (promise !== null) assert.fail(`LOST ${describe(one)}: ${what}, but it is ${promise}`);
    one.isGone = true;
  }

  /** Throws if more have expired on a day than the contract allows. */
  checkDailyShare(expiredAt: readonly number[], total: number): void {
    const most = Math.max(1, Math.floor(total / dailyShare));
    for (const [day, times] of Map.groupBy(expiredAt, dayOf))
      assert.ok(times.length <= most, `${times.length} of ${total} snapshots expired on day ${day}`);
  }
}

export function describe({ id, upload, completedAt }: Snapshot): string {
  return `${id} (${upload.key} of ${upload.source}, ${new Date(completedAt).toISOString()})`;
}

function dayOf(time: number): number {
  return Math.floor((time + istanbulMs) / dayMs);
}
