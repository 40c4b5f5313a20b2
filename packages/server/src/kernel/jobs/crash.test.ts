import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { scaled } from "../../testing/scale.ts";
import { type Bench, jobBench, kill, pastClock, patienceMs, until } from "./testing/bench.ts";
import { benchTasks, blockTask, hangOnceTask, meetTask } from "./testing/worker-process.ts";
import { defaultConcurrency, maxCrashes } from "./worker.ts";

describe("worker processes", { concurrency: true }, () => {
  test("two workers share 500 jobs and run each exactly once", async (t) => {
    const bench = await jobBench(t, pastClock());
    await Promise.all([bench.spawnWorker(), bench.spawnWorker()]);
    const ids = await enqueueMany(bench, 500);
    await until("all jobs are done", async () => (await bench.jobs()).length === 0);
    const runs = await bench.runs();
    assert.deepEqual(runs.map((run) => run.job_id).sort(), ids.sort());
    assert.equal(new Set(runs.map((run) => run.pid)).size, 2);
  });

  test("after kill -9 of a worker its job runs again, as the same attempt", async (t) => {
    const bench = await jobBench(t, pastClock());
    const first = await bench.spawnWorker();
    await bench.enqueue({ task: hangOnceTask, payload: {} });
    await until("the first worker runs it", async () => (await bench.runs()).length === 1);
    await kill(first);
    const second = await bench.spawnWorker();
    await until("the job is done", async () => (await bench.jobs()).length === 0);
    assert.deepEqual(
      (await bench.runs()).map(({ pid, attempt }) => ({ pid, attempt })),
      [
        { pid: first.pid, attempt: 1 },
        { pid: second.pid, attempt: 1 },
      ],
    );
  });

  test("killing workers under load loses no job and repeats only what they were running", async (t) => {
    const bench = await jobBench(t, pastClock());
    const kills = scaled(1, 10);
    await bench.spawnWorker();
    const ids: string[] = [];
    for (let round = 1; round <= kills; round += 1) {
      const victim = await bench.spawnWorker();
      ids.push(...(await enqueueMany(bench, 200)));
      await until("the victim works", async () => (await bench.runs()).some((run) => run.pid === victim.pid));
      await kill(victim);
      await until("all jobs are done", async () => (await bench.jobs()).length === 0);
      const runs = await bench.runs();
      assert.equal(new Set(runs.map((run) => run.job_id)).size, ids.length);
      assert.ok(runs.length - ids.length <= round * defaultConcurrency);
    }
  });

  test("a worker that is merely busy is not taken for dead", async (t) => {
    const bench = await jobBench(t, pastClock());
    await bench.spawnWorker();
    await bench.enqueue({ task: blockTask, payload: {} });
    await until("it runs", async () => (await bench.runs()).length === 1);
    await bench.spawnWorker();
    await until("the job is done", async () => (await bench.jobs()).length === 0);
    assert.equal((await bench.runs()).length, 1);
  });

  test("the death of a worker is counted on its job, and the attempt keeps its number", async (t) => {
    const bench = await jobBench(t);
    await bench.enqueue({ task: hangOnceTask, payload: {} });
    await bench.database.owner.query("update emanet.jobs set worker = 7");
    await bench.start({ tasks: [], ports: {} });
    await until("it is taken back", async () => (await bench.jobs())[0]?.worker === null);
    const [job] = await bench.jobs();
    assert.deepEqual([job?.state, job?.crashes, job?.attempt], ["queued", 1, 1]);
  });

  test("a job that took its worker down too often is given up", async (t) => {
    const bench = await jobBench(t);
    const { owner } = bench.database;
    await bench.enqueue({ task: hangOnceTask, payload: {} });
    await owner.query("update emanet.jobs set crashes = $1", [maxCrashes]);
    const worker = await bench.start({ tasks: benchTasks, ports: { owner } });
    await worker.waitUntilIdle(patienceMs);
    const [job] = await bench.jobs();
    assert.deepEqual([job?.state, job?.error_code], ["failed", "worker_lost"]);
    assert.deepEqual(await bench.runs(), []);
  });
});

async function enqueueMany(bench: Bench, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = await bench.enqueue({ task: meetTask, payload: {} });
    assert.ok(id);
    ids.push(id);
  }
  return ids;
}
