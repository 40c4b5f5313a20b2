/** One large snapshot in search: how long the projection of its files takes, what it costs, and how long a search then takes. */

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { member } from "../../packages/server/src/archives/testing.ts";
import { measured, untilProjected } from "./history.ts";
import { costOf } from "./measure.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers } from "./transfers.ts";

const fileCounts: Readonly<Record<ScaleName, number>> = { XS: 2_000, S: 20_000, M: 200_000, L: 200_000 };
const filesPerFolder = 100;
const end = Buffer.alloc(1024);

const pathOf = (file: number) => `2026/klasor-${Math.floor(file / filesPerFolder)}/fatura-${file}.xml`;

export const projection: Part = {
  name: "projection",
  async run({ cleanups, scale, log }) {
    const files = fileCounts[scale];
    const setup = await startSetup({ cleanups });
    await upload(setup, files);
    log("uploaded");
    const { cost } = await costOf(setup.program, setup.postmaster, () => untilProjected(setup));
    const cases: readonly (readonly [string, (at: number) => string])[] = [
      ["search, one name", (at) => `/v1/search?query=fatura-${(at * 997) % files}.xml`],
      ["search, a word of every name", () => "/v1/search?query=fatura&limit=100"],
      ["search, no hit", () => "/v1/search?query=olmayan-dosya"],
      ["history of a file", (at) => `/v1/files/history?source=gece&path=${pathOf((at * 997) % files)}`],
    ];
    const rows: string[] = [];
    for (const [name, target] of cases) rows.push(await measured(setup, name, target));
    const { seconds, server, postgres, peakMib } = cost;
    return [
      `## One snapshot of ${files} files in search`,
      "",
      `Ready ${seconds.toFixed(1)} s after the upload (${(files / seconds).toFixed(0)} files/s); CPU of the service ${server.toFixed(1)} s, of PostgreSQL ${postgres.toFixed(1)} s; peak of the service ${peakMib} MiB. The snapshot is verified in the same time.`,
      "",
      ...["| request | p50 ms | p95 ms |", "|---|---|---|", ...rows, ""],
    ].join("\n");
  },
};

async function upload(setup: MeasuredSetup, files: number): Promise<void> {
  const file = path.join(setup.folder, "large-night");
  function* members() {
    for (let at = 0; at < files; at++) yield member({ name: pathOf(at), mtime: 1_700_000_000 }, `${at}`);
    yield end;
  }
  const written = createWriteStream(file);
  await pipeline(Readable.from(members()), written);
  const transfers = await openTransfers("http/1.1", setup.url, setup.ca);
  const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
  const request = { method: "POST", path: "/v1/snapshots?source=gece", headers } as const;
  const answer = await transfers.send({ ...request, file: { path: file, bytes: written.bytesWritten } });
  transfers.close();
  if (answer.status !== 201) throw new Error(`the upload answered ${answer.status}: ${answer.text}`);
  await rm(file);
}
