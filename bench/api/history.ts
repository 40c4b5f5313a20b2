/** Search, history, lists and reports over many snapshots of one source: response times of one client, in milliseconds. */

import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { member } from "../../packages/server/src/archives/testing.ts";
import { openClients, sendAll } from "../requests/clients.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers } from "./transfers.ts";

/** M is what the contract names. It uploads for half an hour. */
const sizes: Readonly<Record<ScaleName, { readonly nights: number; readonly files: number }>> = {
  XS: { nights: 10, files: 300 },
  S: { nights: 100, files: 2_000 },
  M: { nights: 1_000, files: 10_000 },
  L: { nights: 1_000, files: 10_000 },
};

/** One file in so many changes every night. */
const changedEvery = 500;
const filesPerFolder = 100;
/** Of each case. */
const requests = 200;
const end = Buffer.alloc(1024);
const pollMs = 200;

const pathOf = (file: number) => `2026/klasor-${Math.floor(file / filesPerFolder)}/fatura-${file}.xml`;

/** A service that refuses a night so often is broken, not busy. */
const maxAgain = 20;

export const history: Part = {
  name: "history",
  async run({ cleanups, scale, log }) {
    const { nights, files } = sizes[scale];
    const setup = await startSetup({ cleanups });
    const ids = await uploadNights(setup, nights, files, log);
    const waited = await untilProjected(setup);
    log(`the projection was ready ${waited.toFixed(1)} s after the last upload`);
    const verified = await untilVerified(setup);
    log(`all snapshots were verified ${(waited + verified).toFixed(1)} s after the last upload`);
    const rows: string[] = [];
    for (const [name, target] of casesOf(ids, files)) {
      const row = await measured(setup, name, target);
      log(row);
      rows.push(row);
    }
    return [
      `## ${nights} snapshots of ${files} files`,
      "",
      `The projection was ready ${waited.toFixed(1)} s after the last upload, all snapshots were verified after ${(waited + verified).toFixed(1)} s; then it was measured.`,
      "",
      ...["| request | p50 ms | p95 ms |", "|---|---|---|", ...rows, ""],
    ].join("\n");
  },
};

async function uploadNights(
  setup: MeasuredSetup,
  nights: number,
  files: number,
  log: (line: string) => void,
): Promise<readonly string[]> {
  const transfers = await openTransfers("http/1.1", setup.url, setup.ca);
  const ids: string[] = [];
  const file = path.join(setup.folder, "night");
  // A night changes few members. Making all of them each time would take longer than storing them.
  const versions = new Array<number>(files).fill(-1);
  const members = new Array<Buffer>(files);
  for (let night = 0; night < nights; night++) {
    for (let at = 0; at < files; at++) {
      const version = Math.max(night - ((night + at) % changedEvery), 0);
      if (versions[at] === version) continue;
      versions[at] = version;
      members[at] = member({ name: pathOf(at), mtime: 1_700_000_000 + version }, `${at} ${version}`);
    }
    const body = Buffer.concat([...members, end]);
    await writeFile(file, body);
    const send = async () => {
      const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
      const request = { method: "POST", path: "/v1/snapshots?source=gece", headers } as const;
      return transfers.send({ ...request, file: { path: file, bytes: body.length } });
    };
    let answer = await send();
    // A busy machine: the service asks to come again.
    for (let again = 0; answer.status === 503 && again < maxAgain; again++) {
      log(`night ${night} is sent again: 503`);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      answer = await send();
    }
    if (answer.status !== 201) throw new Error(`night ${night} answered ${answer.status}: ${answer.text}`);
    ids.push((JSON.parse(answer.text) as { id: string }).id);
    if (night % 50 === 0) log(`night ${night} of ${nights}`);
  }
  transfers.close();
  await rm(file);
  return ids;
}

/** Waits until search has every snapshot; returns the seconds. */
export async function untilProjected(setup: MeasuredSetup): Promise<number> {
  const transfers = await openTransfers("http/1.1", setup.url, setup.ca);
  const began = performance.now();
  for (;;) {
    const headers = await setup.authorization();
    const answer = await transfers.send({ method: "GET", path: "/v1/search?query=fatura&limit=1", headers });
    // While a large snapshot is added, a search may take longer than the service allows.
    const isAnswered = answer.status === 200;
    if (isAnswered && (JSON.parse(answer.text) as { projection: { waiting: number } }).projection.waiting === 0) break;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  transfers.close();
  return (performance.now() - began) / 1000;
}

/** Waits until every snapshot was read back: it takes a core for each that comes. Returns the seconds. */
async function untilVerified(setup: MeasuredSetup): Promise<number> {
  const began = performance.now();
  const waiting = "select 1 from emanet.snapshots where state = 'completed' and verified_at is null limit 1";
  while ((await setup.rows(waiting)).length > 0) await new Promise((resolve) => setTimeout(resolve, pollMs));
  return (performance.now() - began) / 1000;
}

function casesOf(ids: readonly string[], files: number): readonly (readonly [string, (at: number) => string])[] {
  const some = (at: number) => (at * 37) % files;
  const [first = "", last = ""] = [ids[0], ids.at(-1)];
  return [
    ["search, one name", (at) => `/v1/search?query=fatura-${some(at)}.xml`],
    ["search, a word of every name", () => "/v1/search?query=fatura&limit=100"],
    ["search, no hit", () => "/v1/search?query=olmayan-dosya"],
    ["history of a file", (at) => `/v1/files/history?source=gece&path=${pathOf(some(at))}`],
    ["list of snapshots", () => "/v1/snapshots?limit=25"],
    ["page of a tree", (at) => `/v1/snapshots/${ids[(at * 13) % ids.length]}/tree?path=2026/klasor-0`],
    ["diff to the night before", (at) => `/v1/snapshots/${ids[(at * 13) % ids.length]}/diff`],
    ["diff of the first and the last night", () => `/v1/snapshots/${last}/diff?from=${first}`],
    ["nights, 30 days", () => "/v1/nights"],
    ["usage, 30 days", () => "/v1/usage"],
  ];
}

export async function measured(setup: MeasuredSetup, name: string, target: (at: number) => string): Promise<string> {
  const clients = await openClients("http/1.1", setup.url, setup.ca, 1);
  const headers = await setup.authorization();
  let at = 0;
  const { times } = await sendAll(clients, requests, 200, () => ({ method: "GET", path: target(at++), headers }));
  for (const client of clients) client.close();
  const share = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(1);
  return `| ${name} | ${share(0.5)} | ${share(0.95)} |`;
}
