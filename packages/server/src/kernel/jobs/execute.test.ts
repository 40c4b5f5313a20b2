import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { silentLog } from "../../testing/database.ts";
import { type ExecutorOptions, makeExecutor } from "./execute.ts";
import { noPayload, retryAfter, task } from "./task.ts";
import { type Bench, jobBench } from "./testing/bench.ts";

interface Counter {
  count: number;
}

const countTask = task<unknown, Counter>("bench.count", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, { ports }) => {
    ports.count += 1;
  },
});

describe("a pointer", { concurrency: true }, () => {
  test("that comes to a worker which takes no more puts its job back", async (t) => {
    const bench = await benchWithWorker(t);
    const { execute, ports } = executor(bench, { closing: AbortSignal.abort() });
    const job_id = await bench.enqueue({ task: countTask, payload: {} });
    await execute({ job_id, dispatch: 1 });
    assert.equal((await bench.jobs())[0]?.state, "scheduled");
    assert.equal(ports.count, 0);
  });

  test("of the past, of no job, or of nothing does nothing", async (t) => {
    const bench = await benchWithWorker(t);
    const { execute, ports } = executor(bench);
    const job_id = await bench.enqueue({ task: countTask, payload: {} });
    await execute({ job_id, dispatch: 0 });
    await execute({ job_id: "00000000-0000-7000-8000-000000000000", dispatch: 1 });
    await execute({ something: "else" });
    await execute({ job_id: "not an id", dispatch: 1 });
    await execute(null);
    assert.equal(ports.count, 0);
    await execute({ job_id, dispatch: 1 });
    await execute({ job_id, dispatch: 1 });
    assert.equal(ports.count, 1);
  });

  test("that comes twice at the same time is run once", async (t) => {
    const bench = await benchWithWorker(t);
    const { execute, ports } = executor(bench);
    const job_id = await bench.enqueue({ task: countTask, payload: {} });
    await Promise.all([execute({ job_id, dispatch: 1 }), execute({ job_id, dispatch: 1 })]);
    assert.equal(ports.count, 1);
  });

  test("is kept, and its job untouched, by a worker that was taken for dead", async (t) => {
    const bench = await benchWithWorker(t);
    const fenced = Promise.withResolvers<void>();
    const { execute, ports } = executor(bench, { workerId: "struck off", onFenced: fenced.resolve });
    const job_id = await bench.enqueue({ task: countTask, payload: {} });
    let settled = false;
    void execute({ job_id, dispatch: 1 }).finally(() => {
      settled = true;
    });
    await fenced.promise;
    await nextTurn();
    assert.equal(settled, false, "settling would delete the pointer");
    assert.deepEqual([ports.count, (await bench.jobs())[0]?.state], [0, "queued"]);
  });
});

async function benchWithWorker(t: Parameters<typeof jobBench>[0]): Promise<Bench> {
  const bench = await jobBench(t);
  await bench.database.owner.query("insert into emanet.job_workers (id, started_at) values ('me', now())");
  return bench;
}

function executor(bench: Bench, changes: Partial<ExecutorOptions<Counter>> = {}) {
  const ports = { count: 0 };
  const never = new AbortController().signal;
  const execute = makeExecutor({
    pool: bench.database.owner,
    workerId: "me",
    tasks: new Map([[countTask.name, countTask]]),
    recurrences: new Map(),
    ports,
    clock: bench.clock,
    log: silentLog,
    onReport: () => {},
    running: new Set(),
    closing: never,
    ending: never,
    over: never,
    onFenced: () => assert.fail("fenced"),
    ...changes,
  });
  return { execute, ports };
}
