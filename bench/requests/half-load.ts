/**
 * Response times at half load: requests come at half the rate that a server reached just before, whether or not earlier ones are
 * answered. The bare server gets the same, so that what the machine and the client add can be seen beside the service.
 */

import { cases, type RequestCase } from "./cases.ts";
import { type Client, sendAll, sendSteadily } from "./clients.ts";

const halfLoadRequests = 10_000;
/** The most that the slowest of a hundred answers may take, beside the median. */
const mostP99OverP50 = 3;

/** The requests that are compared: each reads one row. */
const compared = ["bare, one query", "read of one row"] as const;

export interface HalfLoadSubject {
  readonly clients: Readonly<Record<RequestCase["server"], readonly Client[]>>;
  readonly token: string;
  readonly noteId: string;
  readonly rounds: number;
}

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** How late the client sent one of a hundred requests. */
  readonly lateP99: number;
}

/** Prints a line for each server; both in turn, round by round. */
export async function measureHalfLoad(subject: HalfLoadSubject): Promise<void> {
  const kinds = cases.filter(({ name }) => compared.some((one) => one === name));
  const rounds = new Map(kinds.map((kind) => [kind, [] as Round[]]));
  for (const kind of kinds) await fullRate(subject, kind);
  for (let round = 0; round < subject.rounds; round++) {
    for (const kind of kinds) rounds.get(kind)?.push(await measureRound(subject, kind));
  }
  console.log(`\nhalf load: ${subject.rounds} rounds of ${halfLoadRequests} requests, medians`);
  for (const [{ name, server }, all] of rounds) {
    const perSecond = median(all.map((one) => one.perSecond));
    const ratio = median(all.map(({ p50, p99 }) => p99 / p50));
    const [p50, p99, late] = (["p50", "p99", "lateP99"] as const).map((of) => median(all.map((one) => one[of])));
    const shown = `p50 ${p50?.toFixed(2)} ms, p99 ${p99?.toFixed(2)} ms, ratio ${ratio.toFixed(1)}`;
    const verdict = server === "bare" ? "   " : ratio <= mostP99OverP50 ? "yes" : "NO ";
    const target = server === "bare" ? "" : ` (at most ${mostP99OverP50})`;
    console.log(
      `${verdict} ${name}, ${Math.round(perSecond)}/s: ${shown}${target}; client late by ${late?.toFixed(2)} ms`,
    );
  }
}

async function measureRound(subject: HalfLoadSubject, kind: RequestCase): Promise<Round> {
  const perSecond = (await fullRate(subject, kind)) / 2;
  const load = { count: halfLoadRequests, perSecond, expected: kind.status };
  const { times, lateMs } = await sendSteadily(subject.clients[kind.server], load, kind.request(subject));
  return { perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99), lateP99: quantile(lateMs, 0.99) };
}

/** Requests a second when each client sends its next one at once. */
async function fullRate(subject: HalfLoadSubject, kind: RequestCase): Promise<number> {
  const { times, elapsedMs } = await sendAll(
    subject.clients[kind.server],
    halfLoadRequests,
    kind.status,
    kind.request(subject),
  );
  return (times.length * 1000) / elapsedMs;
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.floor(sorted.length * part)] ?? 0;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
