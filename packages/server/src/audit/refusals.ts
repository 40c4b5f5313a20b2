/**
 * Refusals in the audit trail: who asked for what they may not do. The first refusal of a caller, an operation and a code is recorded at
 * once; those that follow within an hour are counted, and recorded together when it ends. So nobody fills a chain by asking again and
 * again, and no request waits for the lock on the chain's head.
 */

import { auditOriginOf } from "../kernel/audit.ts";
import type { Clock } from "../kernel/clock.ts";
import type { GuardRefusal } from "../kernel/http/kernel.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import { actorOf, rowAccessOf } from "../kernel/principal.ts";
import type { Transactions } from "../kernel/tx.ts";

export interface Refusals {
  observe(refusal: GuardRefusal): void;
  /** Waits until what was observed is recorded. */
  settled(): Promise<void>;
  /** Records what is counted. */
  close(): Promise<void>;
}

/** Refusals of a kind are one record and one count in this time. */
const windowMs = 60 * 60_000;

/** How often counts whose time has ended are looked for. */
const lookMs = 60_000;

/** Kinds of refusals of one account in an hour; the others are counted together. An account has at most twice as many records an hour. */
export const maxKinds = 20;

/** Accounts whose refusals are counted at a time: some megabytes. With more, the oldest counts are recorded before their time. */
const maxCounted = 10_000;

interface Counted {
  readonly refusal: GuardRefusal;
  readonly endsAtMs: number;
  /** Since the one that was recorded. */
  more: number;
}

interface Sources {
  readonly transactions: Transactions;
  readonly clock: Clock;
  readonly log: Log;
}

export function openRefusals({ transactions, clock, log }: Sources): Refusals {
  /** By account, then by kind. */
  const counted = new Map<string, Map<string, Counted>>();
  const busy = new Set<Promise<void>>();
  const record = (refusal: GuardRefusal, count: number) => {
    const work = write(transactions, refusal, count)
      .catch((error: unknown) => log.error("refusal_not_recorded", errorFields(error)))
      .finally(() => busy.delete(work));
    busy.add(work);
  };
  const finish = (account: string, kind: string, { refusal, more }: Counted) => {
    const kinds = counted.get(account);
    kinds?.delete(kind);
    if (kinds?.size === 0) counted.delete(account);
    if (more > 0) record(refusal, more);
  };
  const look = (isOver: (one: Counted) => boolean) => {
    for (const [account, kinds] of counted)
      for (const [kind, one] of kinds) if (isOver(one)) finish(account, kind, one);
  };
  const finishOldest = () => {
    for (const [account, kinds] of counted.entries().take(1))
      for (const [kind, one] of kinds) finish(account, kind, one);
  };
  const lookForEnded = () => {
    const now = clock.now().getTime();
    look(({ endsAtMs }) => endsAtMs <= now);
  };
  const timer = setInterval(lookForEnded, lookMs).unref();
  const stopListening = clock.onMove?.(lookForEnded);
  const settled = async () => {
    while (busy.size > 0) await Promise.all(busy);
  };
  return {
    observe(refusal) {
      const { account, kind } = namesOf(refusal);
      const kinds = counted.get(account) ?? new Map<string, Counted>();
      const now = clock.now().getTime();
      const place = kinds.has(kind) || kinds.size < maxKinds ? kind : otherKinds;
      const known = kinds.get(place);
      if (known !== undefined && known.endsAtMs > now) {
        known.more += 1;
        return;
      }
      if (known !== undefined) finish(account, place, known);
      if (!counted.has(account) && counted.size >= maxCounted) finishOldest();
      kinds.set(place, { refusal, endsAtMs: now + windowMs, more: 0 });
      counted.set(account, kinds);
      record(refusal, 1);
    },
    settled,
    async close() {
      clearInterval(timer);
      stopListening?.();
      look(() => true);
      await settled();
    },
  };
}

const otherKinds = "other";

function namesOf({ principal, operation, code }: GuardRefusal): { account: string; kind: string } {
  const account = "accountId" in principal ? principal.accountId : "platform";
  return { account, kind: JSON.stringify([actorOf(principal), operation, code]) };
}

/** `count` says how many refusals the record stands for. */
async function write(transactions: Transactions, refusal: GuardRefusal, count: number): Promise<void> {
  const { principal, operation, code, requestId, address } = refusal;
  const who = {
    actor: actorOf(principal),
    context: auditOriginOf(principal, { requestId, address, operation }),
    signal: new AbortController().signal,
  };
  await transactions.run(who, rowAccessOf(principal), async (tx) => {
    tx.audit({ action: "access.refused", targets: [], outcome: "failure", metadata: { code, count } });
  });
}
