/** What is measured: the same work at the service and at the bare server. */

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SeededRandom } from "../ofis/seeded-random.ts";
import { type ClientRequest, openClients, sendAll } from "../requests/clients.ts";
import type { Bench, Side } from "./bench.ts";
import { smallFile, smallPath } from "./content.ts";
import type { Scale } from "./scale.ts";
import type { Transfer } from "./transfers.ts";

/** What one round sends, and where the service has it. */
export interface Round {
  readonly number: number;
  readonly seed: number;
  readonly scale: Scale;
  readonly tar: { readonly path: string; readonly bytes: number };
  readonly large: { readonly path: string; readonly bytes: number };
  /** Snapshots of the service, by what was uploaded. */
  readonly snapshots: { tar?: string; large?: string };
}

/** What was moved. `snapshotId` is of an upload that is verified in the background afterwards. */
export interface Moved {
  readonly bytes: number;
  readonly requests: number;
  readonly snapshotId?: string;
}

export interface ApiCase {
  readonly name: string;
  readonly title: string;
  readonly unit: "MB/s" | "requests/s";
  /** What must have been uploaded before. */
  readonly needs: readonly ("tar" | "large")[];
  /** Before it is measured. */
  prepare?(bench: Bench, round: Round): void | Promise<void>;
  run(bench: Bench, side: Side, round: Round): Promise<Moved>;
}

/** Clients of the cases that count requests. */
const concurrency = 16;

/** Ranges that are asked for at the same time. */
const rangesAtOnce = 4;
const rangeBytes = 1024 * 1024;

/** The bare server has so many of the small files. */
const bareFiles = 1_000;

export const cases: readonly ApiCase[] = [
  {
    ...{ name: "upload-files", title: "upload, small files as tar, first night", unit: "MB/s", needs: [] },
    run: (bench, side, round) => upload(bench, side, round, "tar"),
  },
  {
    ...{ name: "upload-again", title: "upload, the same tar the next night", unit: "MB/s", needs: ["tar"] },
    run: (bench, side, round) => upload(bench, side, round, "tar"),
  },
  {
    ...{ name: "upload-large", title: "upload, one large file", unit: "MB/s", needs: [] },
    run: (bench, side, round) => upload(bench, side, round, "large"),
  },
  {
    ...{ name: "read-files", title: "download, small files", unit: "requests/s", needs: ["tar"] },
    ...{ prepare: writeBareFiles, run: readFiles },
  },
  {
    ...{ name: "read-large", title: "download, one large file", unit: "MB/s", needs: ["large"] },
    run: (bench, side, round) => download(bench, side, pathOfLarge(side, round), round.large.bytes),
  },
  { ...{ name: "read-ranges", title: "download, ranges of 1 MiB", unit: "MB/s", needs: ["large"] }, run: readRanges },
  {
    ...{ name: "read-archive", title: "download, archive of small files", unit: "MB/s", needs: ["tar"] },
    run: (bench, side, { snapshots, tar }) =>
      download(bench, side, side === "bare" ? "/files/tar" : `/v1/snapshots/${snapshots.tar}/archive`, tar.bytes),
  },
  { ...{ name: "list", title: "list of snapshots, page of 25", unit: "requests/s", needs: [] }, run: list },
];

export async function upload(bench: Bench, side: Side, round: Round, what: "tar" | "large"): Promise<Moved> {
  const file = round[what];
  const moved = { bytes: file.bytes, requests: 1 };
  if (side === "bare") {
    const headers = { "content-type": "application/octet-stream" };
    await send(bench, side, { method: "POST", path: `/files/${what}`, headers, file }, 201);
    return moved;
  }
  const query = what === "tar" ? "source=tar" : "source=large&path=large.bin";
  const headers = { ...(await bench.authorization()), "content-type": "application/x-tar" };
  const text = await send(bench, side, { method: "POST", path: `/v1/snapshots?${query}`, headers, file }, 201);
  const { id: snapshotId } = JSON.parse(text) as { id: string };
  round.snapshots[what] = snapshotId;
  return { ...moved, snapshotId };
}

async function download(bench: Bench, side: Side, from: string, bytes: number): Promise<Moved> {
  const headers = side === "service" ? await bench.authorization() : {};
  const answer = await bench.transfers[side].send({ method: "GET", path: from, headers });
  if (answer.status !== 200 || answer.bytes < bytes * 0.99) throw new Error(`${from} answered ${answer.status}`);
  return { bytes: answer.bytes, requests: 1 };
}

function pathOfLarge(side: Side, { snapshots }: Round): string {
  return side === "bare" ? "/files/large" : `/v1/snapshots/${snapshots.large}/files/large.bin`;
}

async function readRanges(bench: Bench, side: Side, round: Round): Promise<Moved> {
  const authorization = side === "service" ? await bench.authorization() : {};
  const random = new SeededRandom(round.seed, "ranges");
  const from = pathOfLarge(side, round);
  let left = round.scale.ranges;
  const one = async () => {
    while (left-- > 0) {
      const start = random.below(round.large.bytes - rangeBytes);
      const headers = { ...authorization, range: `bytes=${start}-${start + rangeBytes - 1}` };
      await send(bench, side, { method: "GET", path: from, headers }, 206);
    }
  };
  await Promise.all(Array.from({ length: rangesAtOnce }, one));
  return { bytes: round.scale.ranges * rangeBytes, requests: round.scale.ranges };
}

async function readFiles(bench: Bench, side: Side, round: Round): Promise<Moved> {
  const { files, fileBytes, requests } = round.scale;
  const count = Math.min(files, bareFiles);
  const before = side === "bare" ? "/files" : `/v1/snapshots/${round.snapshots.tar}/files`;
  const random = new SeededRandom(round.seed, "files");
  await sendMany(bench, side, requests, () => `${before}/${smallPath(random.below(count))}`);
  return { bytes: requests * fileBytes, requests };
}

async function list(bench: Bench, side: Side, { scale: { requests } }: Round): Promise<Moved> {
  const from = side === "bare" ? "/snapshots" : "/v1/snapshots?limit=25";
  await sendMany(bench, side, requests, () => from);
  return { bytes: 0, requests };
}

async function sendMany(bench: Bench, side: Side, count: number, next: () => string): Promise<void> {
  const headers = side === "service" ? await bench.authorization() : {};
  const clients = await openClients(bench.protocol, bench.programs[side].ready[0] ?? "", bench.ca, concurrency);
  const request = (): ClientRequest => ({ method: "GET", path: next(), headers });
  await sendAll(clients, count, 200, request);
  for (const client of clients) client.close();
}

function writeBareFiles({ bareFolder }: Bench, { seed, scale }: Round): void {
  for (let index = 0; index < Math.min(scale.files, bareFiles); index++) {
    const file = path.join(bareFolder, smallPath(index));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, smallFile(seed, index, scale.fileBytes));
  }
}

async function send({ transfers }: Bench, side: Side, transfer: Transfer, status: number): Promise<string> {
  const answer = await transfers[side].send(transfer);
  if (answer.status === status) return answer.text;
  throw new Error(`${transfer.method} ${transfer.path} answered ${answer.status}: ${answer.text}`);
}
