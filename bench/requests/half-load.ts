/**
 * Response times at half load: requests come at half the rate that a server reached just before, whether or not earlier ones are
 * answered. The bare server gets the same, so that what the machine and the client add can be seen beside the service. One more
 * round of each says what the slowest answers waited for: garbage collection of server and client, and processors that other
 * threads had. It does not count, because watching costs time too.
 */

import { cases, type RequestCase } from "./cases.ts";
import { type Client, sendAll, sendSteadily } from "./clients.ts";
import { type Program, waitedMs, watchProgram } from "./processes.ts";
import { type Pause, type Stalls, watchStalls } from "./stalls.ts";

const halfLoadRequests = 10_000;
/** The most that the slowest of a hundred answers may take, beside the median. */
const mostP99OverP50 = 3;

/** The requests that are compared: each reads one row. */
const compared = ["bare, one query", "read of one row"] as const;

export interface HalfLoadSubject {
  readonly programs: Readonly<Record<RequestCase["server"], Program>>;
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
  const ratios = new Map<RequestCase["server"], number>();
  console.log(`\nhalf load: ${subject.rounds} rounds of ${halfLoadRequests} requests, medians`);
  for (const [{ name, server }, all] of rounds) {
    const perSecond = median(all.map((one) => one.perSecond));
    const ratio = median(all.map(({ p50, p99 }) => p99 / p50));
    ratios.set(server, ratio);
    const [p50, p99, late] = (["p50", "p99", "lateP99"] as const).map((of) => median(all.map((one) => one[of])));
    const shown = `p50 ${p50?.toFixed(2)} ms, p99 ${p99?.toFixed(2)} ms, ratio ${ratio.toFixed(1)}`;
    const verdict = server === "bare" ? "   " : ratio <= mostP99OverP50 ? "yes" : "NO ";
    const target = server === "bare" ? "" : ` (at most ${mostP99OverP50})`;
    console.log(
      `${verdict} ${name}, ${Math.round(perSecond)}/s: ${shown}${target}; client late by ${late?.toFixed(2)} ms`,
    );
  }
  const bare = ratios.get("bare") ?? 0;
  if (bare > mostP99OverP50)
    console.log(`    the bare server misses the line too (${bare.toFixed(1)}): it is not reached on this machine`);
  for (const kind of kinds) await explain(subject, kind);
}

/** Prints what the answers of one more round waited for. */
async function explain(subject: HalfLoadSubject, kind: RequestCase): Promise<void> {
  const program = subject.programs[kind.server];
  const perSecond = (await fullRate(subject, kind)) / 2;
  const load = { count: halfLoadRequests, perSecond, expected: kind.status };
  const waited = { server: waitedMs(program.pid), client: waitedMs(process.pid) };
  const ends = { server: watchProgram(program), client: watchStalls() };
  const { times, spans } = await sendSteadily(subject.clients[kind.server], load, kind.request(subject));
  const stalls = { client: ends.client(), server: await ends.server() };
  const perRequest = (pid: number, before: number) => ((waitedMs(pid) - before) / halfLoadRequests).toFixed(2);
  const withoutClient = spans.map(([from, to]) => to - from - pausedMs(stalls.client.pauses, from, to));
  const p99 = [times, withoutClient.sort((a, b) => a - b)].map((sorted) => quantile(sorted, 0.99).toFixed(2));
  const wait = `${perRequest(program.pid, waited.server)} and ${perRequest(process.pid, waited.client)} ms`;
  console.log(
    [
      `    ${kind.name}, watched: p99 ${p99[0]} ms, ${p99[1]} ms without the client's own collections`,
      `      server: ${stallsText(stalls.server)}; client: ${stallsText(stalls.client)}`,
      `      per request the server and the client waited ${wait} for a processor`,
    ].join("\n"),
  );
}

/** Milliseconds of the pauses within a span. */
function pausedMs(pauses: readonly Pause[], from: number, to: number): number {
  const within = (pause: Pause) => Math.min(to, pause.from + pause.ms) - Math.max(from, pause.from);
  return pauses.reduce((sum, pause) => sum + Math.max(0, within(pause)), 0);
}

function stallsText({ pauses, loopP99Ms, loopMostMs }: Stalls): string {
  const longest = pauses.reduce((most, { ms }) => Math.max(most, ms), 0);
  const loop = `event loop late by ${loopP99Ms.toFixed(1)} ms at p99, ${loopMostMs.toFixed(1)} ms at most`;
  return `${pauses.length} collections of at most ${longest.toFixed(1)} ms, ${loop}`;
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

/** What so large a part of the sorted values is below. */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.floor(sorted.length * part)] ?? 0;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
