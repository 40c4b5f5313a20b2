/**
 * `npm run bench:delay`: backups through a target that answers every call 30 ms later, beside one without delay: first
 * backup, unchanged tree, one changed file, next night. Prints wall times, calls, and how many delays a backup could not hide.
 *
 *   npm run --silent bench:delay -- [--scale S] [--seed 1] [--delay 30] [--runs 3]
 */

import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { UploadTarget } from "../../packages/engine/src/backup/upload-target.ts";
import {
  CutWorkerPool,
  FileCache,
  LocalTarget,
  pathsSource,
  runBackup,
  writerKeys,
} from "../../packages/engine/src/exports/backup.ts";
import { createRepository } from "../../packages/engine-cli/src/repository.ts";
import { makeOffice, simulateDay, treeFolder } from "../ofis/office.ts";
import { partNames, type ScaleName, scales } from "../ofis/scale.ts";

/** First backup and next night with delay may take this many times as long as without (issue of the ports). */
const allowedRatio = 1.15;

/** Delays that a small backup may wait for. */
const allowedWaits = 8;

/** The cache takes only files that changed a while before the backup, so the clock is ahead. */
const aheadMs = 60 * 60_000;

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "S" },
    seed: { type: "string", default: "1" },
    delay: { type: "string", default: "30" },
    runs: { type: "string", default: "3" },
  },
});

interface Timing {
  readonly step: string;
  readonly delayMs: number;
  readonly wallMs: number;
  readonly calls: number;
}

const work = mkdtempSync(path.join(tmpdir(), "emanet-delay-"));
try {
  await main();
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const scale = values.scale as ScaleName;
  if (!Object.hasOwn(scales, scale)) throw new Error(`--scale takes ${Object.keys(scales).join(", ")}`);
  const timings: Timing[] = [];
  for (let run = 0; run < Number(values.runs); run++) timings.push(...(await measureRun(scale, run)));
  report(timings);
}

/** Backs up the same tree into two repositories, one with delay and one without, step by step. */
async function measureRun(scale: ScaleName, run: number): Promise<Timing[]> {
  const folder = path.join(work, `run-${run}`);
  const options = { threads: availableParallelism() };
  await makeOffice(path.join(folder, "ofis"), { scale, seed: Number(values.seed), parts: partNames }, options);
  const tree = treeFolder(path.join(folder, "ofis"));
  const clients = await Promise.all([0, Number(values.delay)].map((delayMs) => openClient(folder, delayMs)));
  const timings: Timing[] = [];
  const step = async (name: string) => {
    for (const client of run % 2 === 0 ? clients : clients.toReversed()) timings.push(await client.backup(name, tree));
  };
  await step("first backup");
  await step("unchanged");
  appendFileSync(someFile(tree), "changed");
  await step("one changed file");
  await simulateDay(path.join(folder, "ofis"), options);
  await step("next night");
  for (const client of clients) await client.close();
  rmSync(folder, { recursive: true, force: true });
  return timings;
}

/** A repository of its own, with a client that waits for every answer. */
async function openClient(folder: string, delayMs: number) {
  const ctx = {
    now: () => Date.now() + aheadMs,
    random: (length: number) => crypto.getRandomValues(Buffer.alloc(length)),
  };
  const { vault, writer } = await createRepository(path.join(folder, `repository-${delayMs}`), ctx);
  const cache = new FileCache(":memory:");
  const pool = new CutWorkerPool(availableParallelism());
  const owner = "bench";
  const backup = async (step: string, tree: string): Promise<Timing> => {
    const upload = Buffer.from(ctx.random(16)).toString("hex");
    const { target, calls } = delayed(
      new LocalTarget({ access: vault, upload, owner, authority: vault.authority }),
      delayMs,
    );
    const begun = performance.now();
    const common = { ctx, keys: writerKeys(vault.keys), signer: writer, owner, pool, cache, target };
    await runBackup({ ...common, source: pathsSource([tree]), sourceName: "ofis" });
    return { step, delayMs, wallMs: performance.now() - begun, calls: calls() };
  };
  const close = async () => {
    cache.close();
    await pool.close();
    await vault.catalog.close();
  };
  return { backup, close };
}

/** Every answer comes `delayMs` later. A pack is passed on while it is filled. */
function delayed(target: UploadTarget, delayMs: number): { readonly target: UploadTarget; calls(): number } {
  let calls = 0;
  const later = async <T>(call: Promise<T>): Promise<T> => {
    calls++;
    const answer = await call;
    if (delayMs > 0) await sleep(delayMs);
    return answer;
  };
  const through: UploadTarget = {
    begin: (base) => later(target.begin(base)),
    reserveOrdinals: (request, count) => later(target.reserveOrdinals(request, count)),
    offer: (queries) => later(target.offer(queries)),
    offerNodes: (ids) => later(target.offerNodes(ids)),
    putPack: (name, body) => later(target.putPack(name, body)),
    register: (unit) => later(target.register(unit)),
    renew: () => later(target.renew()),
    complete: (draft) => later(target.complete(draft)),
    abandon: () => later(target.abandon()),
  };
  return { target: through, calls: () => calls };
}

function someFile(folder: string): string {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".xml") && statSync(path.join(folder, name)).isFile()) return path.join(folder, name);
  throw new Error("the tree has no XML file");
}

function report(timings: readonly Timing[]): void {
  const delay = Number(values.delay);
  console.log(`Ofis ${values.scale}, ${delay} ms on every call, medians of ${values.runs}\n`);
  console.log("| step | without delay | with delay | ratio | calls | delays that were not hidden |");
  console.log("|---|---|---|---|---|---|");
  for (const step of new Set(timings.map((each) => each.step))) {
    const of = (delayMs: number) => timings.filter((each) => each.step === step && each.delayMs === delayMs);
    const [none, some] = [of(0), of(delay)].map((all) => median(all.map(({ wallMs }) => wallMs)));
    if (none === undefined || some === undefined) continue;
    const calls = median(of(delay).map((each) => each.calls));
    const waits = Math.max(0, (some - none) / delay);
    const ratio = some / none;
    const isFine = ratio <= allowedRatio || waits <= allowedWaits ? "" : " (!)";
    const cells = [
      `${none.toFixed(0)} ms`,
      `${some.toFixed(0)} ms`,
      `${ratio.toFixed(2)}${isFine}`,
      calls,
      waits.toFixed(1),
    ];
    console.log(`| ${step} | ${cells.join(" | ")} |`);
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
