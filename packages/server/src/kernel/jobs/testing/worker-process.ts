/** A worker process for the tests: its argument is the database. Its tasks note each run before they go on. */

import type { Pool } from "pg";
import { silentLog } from "../../../testing/database.ts";
import { systemClock, systemRandom } from "../../clock.ts";
import { openPools } from "../../database/pool.ts";
import type { SocketTarget } from "../../database/target.ts";
import { type JobContext, noPayload, retryAfter, task } from "../task.ts";
import { Worker } from "../worker.ts";

export interface BenchPorts {
  readonly owner: Pool;
}

export async function noteRun({ jobId, attempt, ports }: JobContext<BenchPorts>): Promise<void> {
  await ports.owner.query("insert into emanet.bench_runs values ($1, $2, $3)", [jobId, attempt, process.pid]);
}

/** Waits until two processes have taken part, so that a test of two workers is one. */
export const meetTask = task<unknown, BenchPorts>("bench.meet", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, context) => {
    await noteRun(context);
    for (;;) {
      const { rows } = await context.ports.owner.query("select distinct pid from emanet.bench_runs");
      if (rows.length >= 2) return;
    }
  },
});

/** Hangs in the first process that runs it, and is done in any other. */
export const hangOnceTask = task<unknown, BenchPorts>("bench.hang_once", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, context) => {
    const { rows } = await context.ports.owner.query("select from emanet.bench_runs where job_id = $1", [
      context.jobId,
    ]);
    await noteRun(context);
    if (rows.length === 0) await new Promise(() => {});
  },
});

/** Twice as long as it takes to be given up for dead. */
const blockMs = 14_000;

/** Keeps its process from doing anything else for a while. */
export const blockTask = task<unknown, BenchPorts>("bench.block", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, context) => {
    await noteRun(context);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
  },
});

export const benchTasks = [meetTask, hangOnceTask, blockTask];

async function main(target: SocketTarget): Promise<void> {
  const { owner } = await openPools({ target, log: silentLog });
  await Worker.start({
    ownerPool: owner,
    tasks: benchTasks,
    ports: { owner },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  process.stdout.write("ready\n");
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? ""));
