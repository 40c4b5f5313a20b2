/**
 * The first byte of one file of a large snapshot that no process has read before: the process is new, and what it reads is not in the page
 * cache. From a folder, and from S3 (versitygw on loopback, if it is there or can be built).
 */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { findVersitygw, startVersitygw } from "../../packages/storage/src/testing/versitygw.ts";
import { SeededRandom } from "../ofis/seeded-random.ts";
import { smallFile, smallPath, writeTar } from "./content.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part, PartOptions } from "./part.ts";
import type { ScaleName } from "./scale.ts";
import { openTransfers } from "./transfers.ts";

/** Files of 100 KB, as many as the snapshot takes. */
const fileBytes = 100_000;
const snapshotBytes: Readonly<Record<ScaleName, number>> = { XS: 20e6, S: 200e6, M: 2e9, L: 5e9 };

/** New processes, each asked for one file first and then for others. */
const starts = 5;
const filesPerStart = 20;

/** What the contract allows, in milliseconds. */
const allowed = { files: 150, s3: 300 } as const;

export const coldFile: Part = {
  name: "cold-file",
  async run(options) {
    const lines = [
      ["store", "snapshot", "first request of a process: median", "highest", "other files: p50", "p95", "allowed"],
      Array.from({ length: 7 }, () => "---"),
      await measure(options, "files", {}),
    ];
    const program = await findVersitygw();
    if (program === null) options.log("no versitygw on the PATH and no Go to build it: S3 is left out");
    else lines.push(await measure(options, "s3", await bucketSettings(options, program)));
    const rows = lines.map((cells) => `| ${cells.join(" | ")} |`);
    return [
      "## First byte of one file, cold",
      "",
      ...rows,
      "",
      "In milliseconds, on a connection that is open.",
      "",
    ].join("\n");
  },
};

let bucketFolder = "";

/** Starts a server with a bucket. */
async function bucketSettings({ cleanups, temporary }: PartOptions, program: string): Promise<Record<string, string>> {
  bucketFolder = path.join(temporary, "s3");
  await mkdir(path.join(bucketFolder, "bucket"), { recursive: true });
  const server = await startVersitygw(program, bucketFolder);
  cleanups.push(() => server.kill());
  // Of the process that is measured, which inherits them.
  process.env.AWS_ACCESS_KEY_ID = server.credentials.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.credentials.secretAccessKey;
  return { EMANET_STORAGE: `s3://bucket/emanet?endpoint=${encodeURIComponent(server.endpoint)}` };
}

async function measure(
  { cleanups, scale, seed, log }: PartOptions,
  store: keyof typeof allowed,
  settings: Readonly<Record<string, string>>,
): Promise<string[]> {
  const setup = await startSetup({ cleanups, settings });
  const files = Math.ceil(snapshotBytes[scale] / fileBytes);
  log(`cold file, ${store}: uploading ${files} files of ${fileBytes} bytes`);
  const id = await uploadTree(setup, seed, files);
  await setup.untilVerified();
  const random = new SeededRandom(seed, "cold");
  const [first, others]: [number[], number[]] = [[], []];
  const authorization = await setup.authorization();
  for (let number = 0; number < starts; number++) {
    await setup.restart();
    leavePageCache(store === "s3" ? bucketFolder : path.join(setup.dataFolder, "objects"));
    const agent = new https.Agent({ ca: setup.ca, keepAlive: true, maxSockets: 1 });
    await openConnection(setup, agent);
    for (let read = 0; read < filesPerStart; read++) {
      const index = random.below(files);
      const from = `${setup.url}/v1/snapshots/${id}/files/${smallPath(index)}`;
      const ms = await firstByteOf(from, agent, authorization, smallFile(seed, index, fileBytes));
      (read === 0 ? first : others).push(ms);
    }
    agent.destroy();
  }
  const [median, highest, half, most] = [
    percentile(first, 0.5),
    percentile(first, 1),
    percentile(others, 0.5),
    percentile(others, 0.95),
  ].map((ms) => ms.toFixed(0));
  log(`cold file, ${store}: first ${first.map((ms) => ms.toFixed(0)).join(" ")} ms`);
  return [
    store,
    `${(snapshotBytes[scale] / 1e9).toFixed(2)} GB`,
    median,
    highest,
    half,
    most,
    String(allowed[store]),
  ].map(String);
}

async function uploadTree(setup: MeasuredSetup, seed: number, files: number): Promise<string> {
  const file = path.join(setup.folder, "tree.tar");
  const bytes = writeTar(file, seed, { files, fileBytes });
  const client = await openTransfers("http/1.1", setup.url, setup.ca);
  const headers = { ...(await setup.authorization()), "content-type": "application/x-tar" };
  const answer = await client.send({
    method: "POST",
    path: "/v1/snapshots?source=cold",
    headers,
    file: { path: file, bytes },
  });
  client.close();
  await rm(file);
  if (answer.status !== 201) throw new Error(`the upload answered ${answer.status}: ${answer.text}`);
  return (JSON.parse(answer.text) as { id: string }).id;
}

/** A connection is open before the time is measured. Its request reads nothing of the vault. */
async function openConnection({ url }: MeasuredSetup, agent: https.Agent): Promise<void> {
  const [response] = await respond(https.get(`${url}/health/live`, { agent }));
  response.resume();
  await once(response, "end");
}

async function firstByteOf(
  url: string,
  agent: https.Agent,
  headers: Readonly<Record<string, string>>,
  expected: Buffer,
): Promise<number> {
  const began = performance.now();
  const [response] = await respond(https.get(url, { agent, headers }));
  const chunks: Buffer[] = [];
  let firstMs = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (chunks.length === 0) firstMs = performance.now() - began;
    chunks.push(chunk);
  }
  if (!Buffer.concat(chunks).equals(expected))
    throw new Error(`${url} answered ${response.statusCode}, or other bytes`);
  return firstMs;
}

function respond(request: ReturnType<typeof https.get>): Promise<[IncomingMessage]> {
  return once(request, "response") as Promise<[IncomingMessage]>;
}

/** Tells Linux to forget what it has of these files in memory. */
function leavePageCache(folder: string): void {
  for (const name of globSync("**/*", { cwd: folder }))
    spawnSync("dd", [`if=${path.join(folder, name)}`, "iflag=nocache", "count=0"], { stdio: "ignore" });
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
