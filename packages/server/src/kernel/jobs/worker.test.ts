import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog } from "../log.ts";
import type { FinishedJob } from "../metrics.ts";
import { countJobs } from "./store.ts";
import {
  type JobContext,
  noPayload,
  PermanentJobError,
  recurring,
  retryAfter,
  TransientJobError,
  task,
} from "./task.ts";
import { jobBench, patienceMs, until } from "./testing/bench.ts";

const secondMs = 1_000;
const hourMs = 3_600_000;

interface Note {
  readonly text: string;
}

function parseNote(payload: unknown): Note {
  const text = (payload as { text?: unknown } | null)?.text;
  if (typeof text !== "string") throw new TypeError("not a note");
  return { text };
}

interface Notebook {
  readonly read: (text: string, context: JobContext<unknown>) => Promise<void> | void;
}

const readNote = task<Note, Notebook>("notes.read", {
  parse: parseNote,
  retry: retryAfter(secondMs, hourMs),
  run: async ({ text }, context) => context.ports.read(text, context),
});

/** A notebook that keeps what was read. */
function notebook(): Notebook & { readonly texts: string[] } {
  const texts: string[] = [];
  return { texts, read: (text) => void texts.push(text) };
}

describe("jobs", { concurrency: true }, () => {
  test("a job that is due runs once and leaves nothing behind", async (t) => {
    const bench = await jobBench(t);
    const ports = notebook();
    const worker = await bench.start({ tasks: [readNote], ports });
    await bench.enqueue({ task: readNote, payload: { text: "a" } });
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(ports.texts, ["a"]);
    assert.deepEqual(await bench.jobs(), []);
  });

  test("a job for later runs when the injected clock says so, not before", async (t) => {
    const bench = await jobBench(t);
    const ports = notebook();
    const worker = await bench.start({ tasks: [readNote], ports });
    const runAt = new Date(bench.clock.now().getTime() + hourMs);
    await bench.enqueue({ task: readNote, payload: { text: "later" }, runAt });
    bench.clock.advance(hourMs - 1);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(ports.texts, []);
    assert.deepEqual(await countJobs(bench.database.owner, bench.clock.now()), {
      scheduled: 2,
      queued: 0,
      running: 0,
      failed: 0,
    });
    bench.clock.advance(1);
    await until("the worker runs the job when it is due", () => ports.texts.length === 1);
  });

  test("however many jobs become due at once, each runs once", async (t) => {
    const bench = await jobBench(t);
    const ports = notebook();
    const runAt = new Date(bench.clock.now().getTime() + hourMs);
    const expected = Array.from({ length: 250 }, (_, index) => String(1000 + index));
    for (const text of expected) await bench.enqueue({ task: readNote, payload: { text }, runAt });
    const worker = await bench.start({ tasks: [readNote], ports });
    bench.clock.advance(hourMs);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(ports.texts.sort(), expected);
  });

  test("a failing job is retried exactly by its schedule, then given up without a word of its error's text", async (t) => {
    const bench = await jobBench(t);
    const canary = "ada@example.test";
    const lines: string[] = [];
    const log = createLog({ level: "debug", clock: bench.clock, write: (line) => void lines.push(line) });
    const reports: FinishedJob[] = [];
    const attempts: number[] = [];
    const read: Notebook["read"] = (_text, { attempt }) => {
      attempts.push(attempt);
      throw Object.assign(new RangeError(`cannot reach ${canary}`), { code: "ECONNREFUSED" });
    };
    const onReport = (report: FinishedJob) => void reports.push(report);
    const worker = await bench.start({ tasks: [readNote], ports: { read }, log, onReport });
    await bench.enqueue({ task: readNote, payload: { text: canary } });
    await worker.waitUntilIdle(patienceMs);
    for (const wait of readNote.retry) {
      const [job] = await bench.jobs();
      assert.equal(job?.run_at.getTime(), bench.clock.now().getTime() + wait);
      bench.clock.advance(wait - 1);
      const before = attempts.length;
      await worker.waitUntilIdle(patienceMs);
      assert.equal(attempts.length, before);
      bench.clock.advance(1);
      await worker.waitUntilIdle(patienceMs);
    }
    assert.deepEqual(attempts, [1, 2, 3]);
    // A report follows its outcome, which is all that settling waits for.
    const outcomes = () => reports.filter((report) => report.task === "notes.read").map((report) => report.outcome);
    await until("the last report is there", () => outcomes().length === 3);
    assert.deepEqual(outcomes(), ["retried", "retried", "given_up"]);
    const [job] = await bench.jobs();
    assert.equal(job?.state, "failed");
    assert.equal(job.error_class, "RangeError");
    assert.equal(job.error_code, "ECONNREFUSED");
    assert.ok(lines.some((line) => line.includes("job_given_up")));
    assert.ok(!lines.join("").includes(canary));
    const { rows } = await bench.database.owner.query("select to_jsonb(jobs) - 'payload' from emanet.jobs");
    assert.ok(!JSON.stringify(rows).includes(canary));
  });

  test("a permanent failure and an unreadable payload are not retried", async (t) => {
    const bench = await jobBench(t);
    let runs = 0;
    const read = () => {
      runs += 1;
      throw new PermanentJobError("mailbox_unknown");
    };
    const worker = await bench.start({ tasks: [readNote], ports: { read } });
    await bench.enqueue({ task: readNote, payload: { text: "x" } });
    await worker.waitUntilIdle(patienceMs);
    const asBefore = task<unknown>("notes.read", {
      parse: (payload) => payload,
      retry: retryAfter(),
      run: async () => {},
    });
    await bench.enqueue({ task: asBefore, payload: { words: "the shape of an older release" } });
    await worker.waitUntilIdle(patienceMs);
    assert.equal(runs, 1);
    const jobs = await bench.jobs();
    assert.deepEqual(
      jobs.map(({ state, attempt, error_code }) => ({ state, attempt, error_code })),
      [
        { state: "failed", attempt: 1, error_code: "mailbox_unknown" },
        { state: "failed", attempt: 1, error_code: "invalid_payload" },
      ],
    );
  });

  test("an attempt that takes too long is aborted and counts as failed", async (t) => {
    const bench = await jobBench(t);
    const slow = task<Readonly<Record<string, never>>>("bench.slow", {
      parse: noPayload,
      retry: retryAfter(secondMs),
      timeoutMs: 50,
      run: (_payload, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("told to end")))),
    });
    const worker = await bench.start({ tasks: [slow], ports: {} });
    await bench.enqueue({ task: slow, payload: {} });
    await worker.waitUntilIdle(patienceMs);
    const [job] = await bench.jobs();
    assert.deepEqual([job?.state, job?.attempt, job?.error_code], ["scheduled", 2, "timeout"]);
  });

  test("a key makes one job while one is unfinished, running included, and another afterwards", async (t) => {
    const bench = await jobBench(t);
    const gate = Promise.withResolvers<void>();
    const texts: string[] = [];
    const read: Notebook["read"] = async (text) => {
      texts.push(text);
      await gate.promise;
      throw new TransientJobError("busy");
    };
    const worker = await bench.start({ tasks: [readNote], ports: { read } });
    const request = (text: string) => ({ task: readNote, payload: { text }, key: "note:1" });
    assert.ok(await bench.enqueue(request("first")));
    assert.equal(await bench.enqueue(request("while it waits or runs")), undefined);
    await until("it runs", () => texts.length === 1);
    assert.equal(await bench.enqueue(request("while it runs")), undefined);
    gate.resolve();
    await worker.waitUntilIdle(patienceMs);
    assert.equal(await bench.enqueue(request("while it waits for a retry")), undefined);
    bench.clock.advance(2 * hourMs);
    await worker.waitUntilIdle(patienceMs);
    bench.clock.advance(2 * hourMs);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(texts, ["first", "first", "first"]);
    assert.ok(await bench.enqueue(request("after it failed for good")));
  });

  test("a recurring job runs once per interval over all workers, and once for all that were missed", async (t) => {
    const bench = await jobBench(t);
    let runs = 0;
    const tick = task<Readonly<Record<string, never>>>("bench.tick", {
      parse: noPayload,
      retry: retryAfter(),
      run: async () => {
        runs += 1;
        if (runs === 2) throw new Error("the second run fails");
      },
    });
    const tasks = [recurring(tick, { everyMs: hourMs })];
    const worker = await bench.start({ tasks, ports: {} });
    await bench.start({ tasks, ports: {} });
    await worker.waitUntilIdle(patienceMs);
    assert.equal(runs, 0);
    for (const [wait, total] of [
      [hourMs, 1],
      [hourMs, 2],
      [hourMs - 1, 2],
      [1, 3],
      [10 * hourMs, 4],
    ] as const) {
      bench.clock.advance(wait);
      await worker.waitUntilIdle(patienceMs);
      assert.equal(runs, total);
    }
  });

  test("what a failed job was about is forgotten after a week, the job itself after a quarter", async (t) => {
    const bench = await jobBench(t);
    const read = () => {
      throw new PermanentJobError("refused");
    };
    const worker = await bench.start({ tasks: [readNote], ports: { read } });
    await bench.enqueue({ task: readNote, payload: { text: "private" } });
    await worker.waitUntilIdle(patienceMs);
    bench.clock.advance(7 * 24 * hourMs - 1);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual((await bench.jobs())[0]?.payload, { text: "private" });
    bench.clock.advance(hourMs);
    await worker.waitUntilIdle(patienceMs);
    const [job] = await bench.jobs();
    assert.equal(job?.payload, null);
    assert.equal(job.error_code, "refused");
    bench.clock.advance(84 * 24 * hourMs);
    await worker.waitUntilIdle(patienceMs);
    assert.deepEqual(await bench.jobs(), []);
  });

  test("a report that throws loses no job: the next session runs what the turn had taken", async (t) => {
    const bench = await jobBench(t);
    const ports = notebook();
    const expected = Array.from({ length: 12 }, (_, index) => String(100 + index));
    for (const text of expected) await bench.enqueue({ task: readNote, payload: { text } });
    let reports = 0;
    const onReport = () => {
      reports += 1;
      if (reports <= 2) throw new Error("no metrics");
    };
    await bench.start({ tasks: [readNote], ports, onReport, concurrency: 2 });
    await until("all jobs are done", async () => (await bench.jobs()).length === 0);
    assert.deepEqual(ports.texts.sort(), expected);
  });

  test("a job of a task that no worker knows waits for one that does", async (t) => {
    const bench = await jobBench(t);
    const old = await bench.start({ tasks: [], ports: {} });
    await bench.enqueue({ task: readNote, payload: { text: "new" } });
    await old.waitUntilIdle(patienceMs);
    const ports = notebook();
    const next = await bench.start({ tasks: [readNote], ports });
    await next.waitUntilIdle(patienceMs);
    assert.deepEqual(ports.texts, ["new"]);
  });
});
