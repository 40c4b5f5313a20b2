/**
 * Memory of the service while many uploads run at the same time: the same bytes by few clients and by 200, and a fifth of them by
 * 200. Connections take memory of their own, in TLS and Node: a bare server with the same load shows how much.
 */

import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { mostTransferBytes, transferBytesPerAccount } from "../../packages/server/src/kernel/http/transfers.ts";
import { countsOf, type Program, type ServiceCounts, startProgram, stopProgram } from "../requests/processes.ts";
import { writeTar } from "./content.ts";
import { costOf } from "./measure.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers, type Transfer, type TransferClient } from "./transfers.ts";

/** Uploads in all: as many as the contract has at the same time. */
const uploads = 200;
const mostClients = 200;
/** The last two differ in their content alone. */
const loads = [
  { clients: 2, part: 1 },
  { clients: 20, part: 1 },
  { clients: mostClients, part: 0.2 },
  { clients: mostClients, part: 1 },
] as const;
/** Of an invoice as XML. */
const fileBytes = 10_000;
const filesPerUpload: Readonly<Record<ScaleName, number>> = { XS: 10, S: 100, M: 500, L: 1_000 };

/** What `Retry-After` says where an account has 32 MiB in flight. */
const retryMs = 2_000;

/** Short beside an upload. */
const sampleMs = 200;

/** What 20 clients may take more than two: what runs of the same load differ by. */
const mostGrowth = 1.05;

const mebibyte = 2 ** 20;
/** What the uploads of an account may hold at a time, and how many large ones these are. */
const inFlightMib = transferBytesPerAccount / mebibyte;
const mostAtATime = transferBytesPerAccount / mostTransferBytes;

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

interface Load {
  readonly url: string;
  readonly ca: string;
  readonly clients: number;
  readonly bodies: readonly { readonly path: string; readonly bytes: number }[];
  /** The request of a body. */
  readonly target: (number: number) => Pick<Transfer, "path" | "headers">;
}

/** Sends all bodies, each until it is taken. Returns how many were refused for now. */
async function sendAll({ url, ca, clients, bodies, target }: Load): Promise<number> {
  const next = bodies.entries();
  let refused = 0;
  const client = async () => {
    const transfers = await openTransfers("http/1.1", url, ca);
    for (const [number, file] of next) {
      while (!(await isTaken(transfers, { method: "POST", ...target(number), file }))) {
        refused++;
        await delay(retryMs);
      }
    }
    transfers.close();
  };
  await Promise.all(Array.from({ length: clients }, client));
  return refused;
}

/** Peak MiB of a bare server that writes the same bodies to files, and refuses as the service does. */
async function barePeak(setup: MeasuredSetup, load: Pick<Load, "clients" | "bodies">): Promise<number> {
  const folder = path.join(setup.folder, "bare");
  await mkdir(folder, { recursive: true });
  const words = [path.join(setup.dataFolder, "tls"), "{}", folder, String(mostAtATime)];
  const bare = await startProgram("../../packages/server/src/testing/programs/bare-file-server.ts", words);
  try {
    const headers = { "content-type": "application/x-tar" };
    const target = (number: number) => ({ path: `/files/${number}`, headers });
    const send = () => sendAll({ ...load, url: bare.ready[0] ?? "", ca: setup.ca, target });
    return (await costOf(bare, setup.postmaster, send)).cost.peakMib;
  } finally {
    await stopProgram(bare);
  }
}

interface Peak {
  readonly service: number;
  readonly bare: number;
}

/** Whether memory stays flat up to 20 clients, and grows to 200 by what their connections take, and as the content grows. */
function flatness([two, twenty, small, whole]: readonly Peak[]): string {
  if (!two || !twenty || !small || !whole) return "";
  const line = (holds: boolean, text: string) => `${holds ? "yes" : "NO"}: ${text}`;
  const growth = twenty.service / two.service;
  const more = whole.service - two.service;
  const bareMore = whole.bare - two.bare;
  const content = whole.service - small.service;
  return [
    line(growth <= mostGrowth, `20 clients take ${growth.toFixed(2)} × the memory of 2 (at most ${mostGrowth} ×).`),
    line(
      more <= bareMore + inFlightMib,
      `200 clients take ${more} MiB more than 2: a bare server ${bareMore} (at most ${inFlightMib} MiB beside it: what an account may have in flight).`,
    ),
    line(content <= inFlightMib, `Five times the content takes ${content} MiB more (at most ${inFlightMib}).`),
  ].join("\n");
}

export const parallelUploads: Part = {
  name: "parallel-uploads",
  async run({ cleanups, scale, seed, log }) {
    const rows: string[] = [];
    const peaks: Peak[] = [];
    for (const { clients, part } of loads) {
      const setup = await startSetup({ cleanups });
      const files = Math.max(1, filesPerUpload[scale] * part);
      const bodies = Array.from({ length: uploads }, (_, number) => {
        const file = path.join(setup.folder, `upload-${number}`);
        return { path: file, bytes: writeTar(file, seed * uploads + number, { files, fileBytes }) };
      });
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0);
      const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
      const target = (number: number) => ({ path: `/v1/snapshots?source=s${number}`, headers });
      const memory = watchMemory(setup.program);
      const { cost, result: refused } = await costOf(setup.program, setup.postmaster, () =>
        sendAll({ url: setup.url, ca: setup.ca, clients, bodies, target }),
      );
      const parts = await memory();
      const bare = await barePeak(setup, { clients, bodies });
      peaks.push({ service: cost.peakMib, bare });
      log(
        `${clients} clients, ${files} files each: ${cost.seconds.toFixed(1)} s, ${refused} refused for now, peak ${cost.peakMib} MiB (${parts}), bare server ${bare} MiB`,
      );
      const speed = (bytes / 1e6 / cost.seconds).toFixed(1);
      rows.push(
        `| ${clients} | ${uploads} × ${files} files | ${speed} | ${cost.seconds.toFixed(1)} | ${refused} | ${cost.peakMib} | ${parts} | ${bare} |`,
      );
      for (const body of bodies) await rm(body.path);
    }
    return [
      ...[
        "## Uploads at the same time",
        "",
        "| clients | uploads | MB/s | seconds | refused for now | peak MiB of the service | heap + buffers + other | peak MiB of a bare server |",
      ],
      ...["|---|---|---|---|---|---|---|---|", ...rows, "", flatness(peaks), ""],
    ].join("\n");
  },
};
