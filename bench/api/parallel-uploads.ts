/** Memory of the service while many uploads run at the same time: the same bytes by few clients and by 200, and a fifth of them by 200. */

import { rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { countsOf, type Program, type ServiceCounts } from "../requests/processes.ts";
import { writeTar } from "./content.ts";
import { costOf } from "./measure.ts";
import { startSetup } from "./measured-setup.ts";
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

/** What 200 clients may take more than two, and five times the content more than one: what runs of the same load differ by. */
const mostGrowth = 1.05;

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

/** Whether memory stays flat from the fewest clients to the most, and as the content grows. */
function flatness([fewest = 0, , small = 0, whole = 0]: readonly number[]): string {
  const line = (growth: number, of: string) =>
    `${growth <= mostGrowth ? "yes" : "NO"}: ${mostClients} clients take ${growth.toFixed(2)} × the memory ${of} (at most ${mostGrowth} ×).`;
  return [line(whole / fewest, `of ${loads[0].clients}`), line(whole / small, "with five times the content")].join(
    "\n",
  );
}

export const parallelUploads: Part = {
  name: "parallel-uploads",
  async run({ cleanups, scale, seed, log }) {
    const rows: string[] = [];
    const peaks: number[] = [];
    for (const { clients, part } of loads) {
      const setup = await startSetup({ cleanups });
      const files = Math.max(1, filesPerUpload[scale] * part);
      const bodies = Array.from({ length: uploads }, (_, number) => {
        const file = path.join(setup.folder, `upload-${number}`);
        return { path: file, bytes: writeTar(file, seed * uploads + number, { files, fileBytes }) };
      });
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0);
      const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
      const next = bodies.entries();
      let refused = 0;
      const client = async () => {
        const transfers = await openTransfers("http/1.1", setup.url, setup.ca);
        for (const [number, file] of next) {
          const transfer = { method: "POST", path: `/v1/snapshots?source=s${number}`, headers, file } as const;
          while (!(await isTaken(transfers, transfer))) {
            refused++;
            await delay(retryMs);
          }
        }
        transfers.close();
      };
      const memory = watchMemory(setup.program);
      const { cost } = await costOf(setup.program, setup.postmaster, () =>
        Promise.all(Array.from({ length: clients }, client)),
      );
      const parts = await memory();
      peaks.push(cost.peakMib);
      log(
        `${clients} clients, ${files} files each: ${cost.seconds.toFixed(1)} s, ${refused} refused for now, peak ${cost.peakMib} MiB (${parts})`,
      );
      const speed = (bytes / 1e6 / cost.seconds).toFixed(1);
      rows.push(
        `| ${clients} | ${uploads} × ${files} files | ${speed} | ${cost.seconds.toFixed(1)} | ${refused} | ${cost.peakMib} | ${parts} |`,
      );
      for (const body of bodies) await rm(body.path);
    }
    return [
      ...[
        "## Uploads at the same time",
        "",
        "| clients | uploads | MB/s | seconds | refused for now | peak MiB of the service | heap + buffers + other |",
      ],
      ...["|---|---|---|---|---|---|---|", ...rows, "", flatness(peaks), ""],
    ].join("\n");
  },
};
