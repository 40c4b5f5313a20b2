/** Restores: the archive of a completed restore, beside the same bytes as a file of the bare server. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../ofis/seeded-random.ts";
import type { Bench, Side } from "./bench.ts";
import type { ApiCase, Moved, Round } from "./cases.ts";

/** Ranges that are asked for at the same time. */
const rangesAtOnce = 4;
const rangeBytes = 1024 * 1024;

/** Short beside the job of the smallest restore. */
const pollMs = 50;

interface Prepared {
  readonly id: string;
  readonly bytes: number;
}

/** The restores of a round, by what was uploaded. */
const restores = new WeakMap<Round, { tar?: Prepared; large?: Prepared }>();

export const restoreCases: readonly ApiCase[] = [
  {
    ...{ name: "restore-files", title: "restore, archive of small files", unit: "MB/s", needs: ["tar"] },
    prepare: (bench, round) => prepare(bench, round, "tar"),
    run: (bench, side, round) => whole(bench, side, round, "tar"),
  },
  {
    ...{ name: "restore-large", title: "restore, archive of one large file", unit: "MB/s", needs: ["large"] },
    prepare: (bench, round) => prepare(bench, round, "large"),
    run: (bench, side, round) => whole(bench, side, round, "large"),
  },
  {
    ...{ name: "restore-ranges", title: "restore, ranges of 1 MiB of small files", unit: "MB/s", needs: ["tar"] },
    prepare: (bench, round) => prepare(bench, round, "tar"),
    run: ranges,
  },
];

/** Has the service prepare a restore of what was uploaded. It is not measured here. */
async function prepare(bench: Bench, round: Round, what: "tar" | "large"): Promise<void> {
  const known = restores.get(round) ?? {};
  restores.set(round, known);
  const snapshot = round.snapshots[what];
  if (known[what] !== undefined || snapshot === undefined) return;
  const headers = { ...(await bench.authorization()), "content-type": "application/json" };
  const body = JSON.stringify({ snapshot_id: snapshot, target: { kind: "download", format: "tar" } });
  const file = { path: path.join(bench.folder, "restore.json"), bytes: Buffer.byteLength(body) };
  writeFileSync(file.path, body);
  const made = await bench.transfers.service.send({ method: "POST", path: "/v1/restore", headers, file });
  if (made.status !== 202) throw new Error(`POST /v1/restore answered ${made.status}: ${made.text}`);
  const { id } = JSON.parse(made.text) as { id: string };
  for (;;) {
    const read = { method: "GET", path: `/v1/restore/${id}`, headers: await bench.authorization() } as const;
    const { status, download } = JSON.parse((await bench.transfers.service.send(read)).text);
    if (status === "failed") throw new Error("the restore failed");
    if (status === "completed") {
      known[what] = { id, bytes: download.size_bytes };
      return;
    }
    await delay(pollMs);
  }
}

/** Where one side has the archive, and its bytes. */
function archiveOf(side: Side, round: Round, what: "tar" | "large"): { readonly from: string; readonly bytes: number } {
  if (side === "bare") return { from: `/files/${what}`, bytes: round[what].bytes };
  const prepared = restores.get(round)?.[what];
  if (prepared === undefined) throw new Error("the restore was not prepared");
  return { from: `/v1/restore/${prepared.id}/download`, bytes: prepared.bytes };
}

async function whole(bench: Bench, side: Side, round: Round, what: "tar" | "large"): Promise<Moved> {
  const { from, bytes } = archiveOf(side, round, what);
  const headers = side === "service" ? await bench.authorization() : {};
  const answer = await bench.transfers[side].send({ method: "GET", path: from, headers });
  if (answer.status !== 200 || answer.bytes < bytes) throw new Error(`${from} answered ${answer.status}`);
  return { bytes: answer.bytes, requests: 1 };
}

async function ranges(bench: Bench, side: Side, round: Round): Promise<Moved> {
  const { from, bytes } = archiveOf(side, round, "tar");
  const authorization = side === "service" ? await bench.authorization() : {};
  const random = new SeededRandom(round.seed, "restore-ranges");
  let left = round.scale.ranges;
  const one = async () => {
    while (left-- > 0) {
      const start = random.below(Math.max(1, bytes - rangeBytes));
      const headers = { ...authorization, range: `bytes=${start}-${start + rangeBytes - 1}` };
      const answer = await bench.transfers[side].send({ method: "GET", path: from, headers });
      if (answer.status !== 206) throw new Error(`${from} answered ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: rangesAtOnce }, one));
  return { bytes: round.scale.ranges * Math.min(rangeBytes, bytes), requests: round.scale.ranges };
}
