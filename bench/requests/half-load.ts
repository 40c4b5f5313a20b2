/**
 * Response times at half load: requests come at half the rate that a server reached just before, whether or not earlier ones are
 * answered. The bare server gets the same, so that what the machine and the client add can be seen beside the service. Each is
 * measured at ordinary and at real-time priority (`real-time.ts`): at the first the slowest answers wait for the processors that
 * client, servers and PostgreSQL share, at the second only for each other. One more round of each says what they waited for:
 * garbage collection of server and client, and processors that other threads had. It does not count: watching costs time too.
 */

import { cases, type RequestCase } from "./cases.ts";
import { type Client, sendAll, sendSteadily } from "./clients.ts";
import { type Wakefulness, whileAwake } from "./keep-awake.ts";
import { childrenOf, type Program, waitedMs, watchProgram } from "./processes.ts";
import { canRunAtRealTime, runAtRealTime } from "./real-time.ts";
import { type Pause, type Stalls, watchStalls } from "./stalls.ts";

const halfLoadRequests = 10_000;
/** The most that the slowest of a hundred answers may take, beside the median. */
const mostP99OverP50 = 3;

/** The requests that are compared: each reads one row. */
const compared = ["bare, one query", "read of one row"] as const;

export interface HalfLoadSubject {
  readonly programs: Readonly<Record<RequestCase["server"], Program>>;
  readonly clients: Readonly<Record<RequestCase["server"], readonly Client[]>>;
  /** The first process of PostgreSQL. */
  readonly postmaster: number;
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

type Priority = "ordinary" | "real-time";

/** At ordinary priority programs would wait for the loops; at real-time priority they do not. */
const wakefulness: Readonly<Record<Priority, Wakefulness>> = { ordinary: "naps", "real-time": "loops" };

/** Prints lines for each server; both in turn, round by round. */
export async function measureHalfLoad(subject: HalfLoadSubject): Promise<void> {
  const kinds = cases.filter(({ name }) => compared.some((one) => one === name));
  const priorities: readonly Priority[] = canRunAtRealTime() ? ["ordinary", "real-time"] : ["ordinary"];
  for (const kind of kinds) await fullRate(subject, kind);
  for (const priority of priorities)
    await whileAwake(wakefulness[priority], () => measureAtPriority(subject, kinds, priority));
  if (!priorities.includes("real-time"))
    console.log("    not measured at real-time priority, which this user may not give (`chrt --fifo`)");
}

async function measureAtPriority(subject: HalfLoadSubject, kinds: readonly RequestCase[], priority: Priority) {
  const measured = kinds.map((kind) => ({ kind, rounds: [] as Round[] }));
  for (let round = 0; round < subject.rounds; round++)
    for (const { kind, rounds } of measured) rounds.push(await measureRound(subject, kind, priority));
  console.log(`\nhalf load, ${priority} priority: ${subject.rounds} rounds of ${halfLoadRequests} requests, medians`);
  for (const { kind, rounds } of measured) showRounds(kind, rounds);
  for (const { kind } of measured) await explain(subject, kind, priority);
}

function showRounds({ name, server }: RequestCase, rounds: readonly Round[]): void {
  const of = (value: (round: Round) => number) => median(rounds.map(value));
  const ratio = of(({ p50, p99 }) => p99 / p50);
  const times = `p50 ${of(({ p50 }) => p50).toFixed(2)} ms, p99 ${of(({ p99 }) => p99).toFixed(2)} ms`;
  const isCounted = server === "service";
  const verdict = !isCounted ? "   " : ratio <= mostP99OverP50 ? "yes" : "NO ";
  const target = isCounted ? ` (at most ${mostP99OverP50})` : "";
  const late = of(({ lateP99 }) => lateP99).toFixed(2);
  const perSecond = Math.round(of((round) => round.perSecond));
  console.log(
    `${verdict} ${name}, ${perSecond}/s: ${times}, ratio ${ratio.toFixed(1)}${target}; client late by ${late} ms`,
  );
}

/** Sends requests at half the rate of {@link fullRate}, with everything that they need at this priority. */
async function sendAtHalfLoad(subject: HalfLoadSubject, kind: RequestCase, priority: Priority, perSecond: number) {
  const load = { count: halfLoadRequests, perSecond, expected: kind.status };
  const programs = [process.pid, ...Object.values(subject.programs).map(({ pid }) => pid)];
  // At full rate both processors are busy all the time: then Linux takes them away from real-time threads for a while.
  const undo =
    priority === "real-time"
      ? runAtRealTime([...programs, subject.postmaster, ...childrenOf(subject.postmaster)])
      : () => undefined;
  try {
    return await sendSteadily(subject.clients[kind.server], load, kind.request(subject));
  } finally {
    undo();
  }
}

/** Prints what the answers of one more round waited for. */
async function explain(subject: HalfLoadSubject, kind: RequestCase, priority: Priority): Promise<void> {
  const program = subject.programs[kind.server];
  const perSecond = (await fullRate(subject, kind)) / 2;
  const waited = { server: waitedMs(program.pid), client: waitedMs(process.pid) };
  const ends = { server: watchProgram(program), client: watchStalls() };
  const { times, spans } = await sendAtHalfLoad(subject, kind, priority, perSecond);
  const stalls = { client: ends.client(), server: await ends.server() };
  const perRequest = (pid: number, before: number) => ((waitedMs(pid) - before) / halfLoadRequests).toFixed(2);
  const withoutClient = spans.map(([from, to]) => to - from - pausedMs(stalls.client.pauses, from, to));
  const p99 = [times, withoutClient.sort((a, b) => a - b)].map((sorted) => quantile(sorted, 0.99).toFixed(2));
  const wait = `${perRequest(program.pid, waited.server)} and ${perRequest(process.pid, waited.client)} ms`;
  console.log(
    [
      `    ${kind.name}, ${priority} priority, watched: p99 ${p99[0]} ms, ${p99[1]} ms without the client's own collections`,
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

async function measureRound(subject: HalfLoadSubject, kind: RequestCase, priority: Priority): Promise<Round> {
  const perSecond = (await fullRate(subject, kind)) / 2;
  const { times, lateMs } = await sendAtHalfLoad(subject, kind, priority, perSecond);
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
