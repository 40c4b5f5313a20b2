import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { type JobContext, noPayload, retryAfter, task } from "./task.ts";
import { jobBench, patienceMs, until } from "./testing/bench.ts";

interface Ports {
  readonly work: (context: JobContext<unknown>) => Promise<void>;
}

const workTask = task<Readonly<Record<string, never>>, Ports>("bench.work", {
  parse: noPayload,
  retry: retryAfter(),
  run: (_payload, context) => context.ports.work(context),
});

const request = { task: workTask, payload: {} };

describe("stopping a worker", { concurrency: true }, () => {
  test("a running job finishes within the bound, and none is begun", async (t) => {
    const bench = await jobBench(t);
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const work = () => {
      begun += 1;
      return gate.promise;
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await until("the job runs", () => begun === 1);
    const drained = worker.drain(patienceMs);
    await bench.enqueue(request);
    gate.resolve();
    assert.equal(await drained, 0);
    assert.equal(begun, 1);
    const { totalCount, idleCount } = bench.database.owner;
    assert.equal(totalCount - idleCount, 0, "its session has ended");
    assert.equal((await bench.jobs()).length, 1);
    assert.equal(await worker.drain(0), 0, "stopping twice is stopping once");
    const next = await bench.start({ tasks: [workTask], ports: { work } });
    await next.waitUntilIdle(patienceMs);
    assert.equal(begun, 2);
  });

  test("a job that does not finish in time is aborted and runs elsewhere as the same attempt", async (t) => {
    const bench = await jobBench(t);
    const begun = Promise.withResolvers<void>();
    const work: Ports["work"] = async ({ signal }) => {
      begun.resolve();
      await once(signal, "abort");
      throw new Error("interrupted");
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await begun.promise;
    assert.equal(await worker.drain(0), 1);
    assert.equal(bench.database.owner.totalCount - bench.database.owner.idleCount, 0, "its session has ended");
    const [job] = await bench.jobs();
    assert.deepEqual([job?.state, job?.attempt, job?.crashes, job?.worker], ["queued", 1, 0, null]);
    const attempts: number[] = [];
    const next = await bench.start({
      tasks: [workTask],
      ports: { work: async ({ attempt }) => void attempts.push(attempt) },
    });
    await next.waitUntilIdle(patienceMs);
    assert.deepEqual(attempts, [1]);
  });

  test("a job that ignores its signal is given back all the same", async (t) => {
    const bench = await jobBench(t);
    const begun = Promise.withResolvers<void>();
    const work = () => {
      begun.resolve();
      return new Promise<void>(() => {});
    };
    const worker = await bench.start({ tasks: [workTask], ports: { work } });
    await bench.enqueue(request);
    await begun.promise;
    assert.equal(await worker.drain(0), 1);
    assert.equal((await bench.jobs())[0]?.state, "queued");
  });
});
