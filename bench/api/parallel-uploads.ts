/**
 * Memory of the service while many uploads run at the same time: the same bytes by few clients, by 200, and in fewer uploads that are
 * five times as large; then 200 clients for some minutes; then 200 clients that send no body before the service asks for it. Connections take memory of their own, in TLS and Node: a service that refuses every upload
 * shows how much.
 */

import { rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { countsOf, type Program, type ServiceCounts } from "../requests/processes.ts";
import { writeTar } from "./content.ts";
import { costOf } from "./measure.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers, type Transfer, type TransferClient } from "./transfers.ts";

/** Uploads in all: as many as the contract has at the same time. */
const uploads = 200;
const mostClients = 200;
/** All have the same bytes. */
const loads = [
  { clients: 2, times: 1, waits: false },
  { clients: 20, times: 1, waits: false },
  { clients: 20, times: 5, waits: false },
  { clients: mostClients, times: 1, waits: false },
  { clients: mostClients, times: 1, waits: true },
] as const;
/** Of an invoice as XML. */
const fileBytes = 10_000;
const filesPerUpload: Readonly<Record<ScaleName, number>> = { XS: 10, S: 100, M: 500, L: 1_000 };

/** What `Retry-After` says where an account has 32 MiB in flight. */
const retryMs = 2_000;

/** Short beside an upload. */
const sampleMs = 200;

/** What one load may take more than another, or the last quarter of one than the second: what runs of the same load differ by. */
const mostGrowth = 1.05;

/** How long 200 clients send for the means of quarters. */
const secondsAtMost: Readonly<Record<ScaleName, number>> = { XS: 2, S: 20, M: 180, L: 600 };

const mebibyte = 2 ** 20;

/** What the memory of the service consists of where it is highest. Returns what ends the watch. */
function watchMemory(program: Program): () => Promise<string> {
  const end = new AbortController();
  let peak: ServiceCounts | null = null;
  const watching = (async () => {
    while (!end.signal.aborted) {
      const sample = await countsOf(program);
      if (sample.residentBytes > (peak?.residentBytes ?? 0)) peak = sample;
      await delay(sampleMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  })();
  return async () => {
    end.abort();
    await watching;
    if (peak === null) return "";
    const { heapTotalBytes: heap, bufferBytes: buffers, residentBytes: all } = peak;
    return [heap, buffers, all - heap - buffers].map((bytes) => Math.round(bytes / mebibyte)).join(" + ");
  };
}

/** Sends an upload. Returns false if it was refused for now; the service does not read the rest of a body then. */
async function isTaken(transfers: TransferClient, transfer: Transfer): Promise<boolean> {
  const answer = await transfers.send(transfer).catch(() => null);
  if (answer === null || answer.status === 429 || answer.status === 503) return false;
  if (answer.status !== 201) throw new Error(`${transfer.path} answered ${answer.status}: ${answer.text}`);
  return true;
}

type Body = NonNullable<Transfer["file"]>;
type Send = (transfers: TransferClient, number: number, file: Body) => Promise<void>;

/** Sends all bodies by so many clients, each over a connection of its own. */
async function sendAll({ url, ca }: MeasuredSetup, clients: number, bodies: Iterable<Body>, send: Send) {
  const next = numbered(bodies);
  const client = async () => {
    const transfers = await openTransfers("http/1.1", url, ca);
    for (const [number, file] of next) await send(transfers, number, file);
    transfers.close();
  };
  await Promise.all(Array.from({ length: clients }, client));
}

function* numbered(bodies: Iterable<Body>): Generator<readonly [number: number, body: Body]> {
  let number = 0;
  for (const body of bodies) yield [number++, body];
}

interface Sender {
  readonly headers: { readonly authorization: string };
  readonly waitsForContinue: boolean;
}

const request = (number: number, file: Body, { headers, waitsForContinue }: Sender): Transfer => ({
  ...{ method: "POST", path: `/v1/snapshots?source=s${number}`, file, waitsForContinue },
  headers: { ...headers, "content-type": "application/x-tar" },
});

function writeBodies({ folder }: MeasuredSetup, seed: number, count: number, files: number): Body[] {
  return Array.from({ length: count }, (_, number) => {
    const file = path.join(folder, `upload-${number}`);
    return { path: file, bytes: writeTar(file, seed * uploads + number, { files, fileBytes }) };
  });
}

/** MiB that 200 connections take more than two, in a service that refuses each of their uploads. */
async function connectionGrowth(setup: MeasuredSetup, bodies: readonly Body[]): Promise<number> {
  const refused: Send = async (transfers, number, file) => {
    const sender = { headers: { authorization: "Bearer unknown" }, waitsForContinue: false };
    await transfers.send(request(number, file, sender)).catch(() => null);
  };
  const peakOf = async (clients: number) => {
    const send = () => sendAll(setup, clients, bodies, refused);
    return (await costOf(setup.program, setup.postmaster, send)).cost.peakMib;
  };
  const two = await peakOf(2);
  return (await peakOf(mostClients)) - two;
}

/** Whether memory stays flat: from 2 clients to 20 and to 200, with larger uploads, and while 200 clients go on; and what connections alone take. */
function flatness(
  [two = 0, twenty = 0, large = 0, most = 0, mostWaiting = 0]: readonly number[],
  quarters: readonly number[],
  connections: number,
): string {
  const ratio = (value: number, of: number, text: string) => {
    const growth = value / of;
    return `${growth <= mostGrowth ? "yes" : "NO"}: ${text} ${growth.toFixed(2)} × the memory (at most ${mostGrowth} ×).`;
  };
  const [, second = 0, , last = 0] = quarters;
  const means = quarters.map((mean) => mean.toFixed(0)).join(" ");
  return [
    ratio(twenty, two, "20 clients in place of 2 take"),
    ratio(large, twenty, "20 clients with uploads five times as large take"),
    ratio(most, two, "200 clients in place of 2 take"),
    ratio(mostWaiting, two, "200 clients that wait for 100 Continue, in place of 2, take"),
    `${ratio(last, second, "while 200 clients go on, the last quarter of the time takes, beside the second,")} MiB: ${means}.`,
    `Connections alone: ${connections} MiB more for 200 than for 2, when every upload is refused.`,
  ].join("\n");
}

/** Sends the bodies again and again by 200 clients. Returns the MiB of the quarters of the time, means. */
async function quartersOf(setup: MeasuredSetup, bodies: readonly Body[], send: Send, seconds: number) {
  const samples: number[] = [];
  const end = performance.now() + seconds * 1000;
  const look = async () => {
    while (performance.now() < end) {
      samples.push((await countsOf(setup.program)).residentBytes / mebibyte);
      await delay(sampleMs);
    }
  };
  const again = function* (): Generator<Body> {
    while (performance.now() < end) yield* bodies;
  };
  await Promise.all([look(), sendAll(setup, mostClients, again(), send)]);
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  return [0, 1, 2, 3].map((at) => mean(samples.slice(at * quarter, (at + 1) * quarter)));
}

/** Repeats what is refused for now. `onRefused` is told of each. */
function patientSend(sender: Sender, onRefused: () => void): Send {
  return async (transfers, number, file) => {
    while (!(await isTaken(transfers, request(number % uploads, file, sender)))) {
      onRefused();
      await delay(retryMs);
    }
  };
}

export const parallelUploads: Part = {
  name: "parallel-uploads",
  async run({ cleanups, scale, seed, log }) {
    const rows: string[] = [];
    const peaks: number[] = [];
    let quarters: readonly number[] = [];
    for (const { clients, times, waits } of loads) {
      const setup = await startSetup({ cleanups });
      const files = filesPerUpload[scale] * times;
      const bodies = writeBodies(setup, seed, uploads / times, files);
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0);
      let refused = 0;
      const sender = { headers: await setup.authorization(), waitsForContinue: waits };
      const send = patientSend(sender, () => refused++);
      const memory = watchMemory(setup.program);
      const { cost } = await costOf(setup.program, setup.postmaster, () => sendAll(setup, clients, bodies, send));
      const parts = await memory();
      peaks.push(cost.peakMib);
      const who = waits ? `${clients} clients that wait` : `${clients} clients`;
      const amount = `${bodies.length} × ${files} files`;
      log(
        `${who}, ${amount}: ${cost.seconds.toFixed(1)} s, ${refused} refused for now, peak ${cost.peakMib} MiB (${parts})`,
      );
      const speed = (bytes / 1e6 / cost.seconds).toFixed(1);
      rows.push(
        `| ${waits ? `${clients}, waiting` : clients} | ${amount} | ${speed} | ${cost.seconds.toFixed(1)} | ${refused} | ${cost.peakMib} | ${parts} |`,
      );
      if (clients === mostClients && !waits) quarters = await quartersOf(setup, bodies, send, secondsAtMost[scale]);
      for (const body of bodies) await rm(body.path);
    }
    const setup = await startSetup({ cleanups });
    const connections = await connectionGrowth(setup, writeBodies(setup, seed, uploads, filesPerUpload[scale]));
    return [
      ...[
        "## Uploads at the same time",
        "",
        "| clients | uploads | MB/s | seconds | refused for now | peak MiB of the service | heap + buffers + other |",
      ],
      ...["|---|---|---|---|---|---|---|", ...rows, "", flatness(peaks, quarters, connections), ""],
    ].join("\n");
  },
};
