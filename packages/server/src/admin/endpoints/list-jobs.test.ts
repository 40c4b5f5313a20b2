import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { noSignInLimits } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";

interface Job {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly attempt: number;
  readonly crashes: number;
  readonly last_error: object | null;
}

const service = await startTestService({ after }, { settings: noSignInLimits });
const staff = await tokenFor(service, { as: "staff" });
const later = new Date(service.clock.now().getTime() + 3600_000);
const moment = new Date("2031-01-01T00:00:00.000Z");

/** The number of a worker that is alive by its lock, so that the service does not take its jobs back. */
const unknownWorker = 1;
const worker = await service.database.owner.connect();
await worker.query("select pg_advisory_lock(1785684595, $1)", [unknownWorker]);
after(() => worker.release(true));

/** Inserts a job of a task that no worker runs, as the queue stores it. */
async function add(job: { task: string; state?: string; attempt?: number; error?: [string, string | null] }) {
  const { task, state = "scheduled", attempt = 1, error = [null, null] } = job;
  const id = randomUUID();
  await service.database.owner.query(
    `insert into emanet.jobs
       (id, task, key, payload, attempt, run_at, created_at, failed_at, error_class, error_code, worker)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[id, task, `kanarya-${id}@ornek.example`, JSON.stringify({ to: "kanarya@ornek.example" })],
      ...[
        attempt,
        state === "queued" ? service.clock.now() : later,
        moment,
        state === "failed" ? moment : null,
        ...error,
      ],
      state === "running" ? unknownWorker : null,
    ],
  );
  return id;
}

async function list(query = ""): Promise<{ data: Job[]; next_cursor: string | null; text: string }> {
  const answer = await service.send("GET", `/v1/admin/jobs${query}`, { headers: staff.auth });
  assert.equal(answer.status, 200, answer.body.toString());
  return { ...(answer.json as { data: Job[]; next_cursor: string | null }), text: answer.body.toString() };
}

describe("GET /v1/admin/jobs", () => {
  test("shows kind, state, attempts and the last error, and no payload", async () => {
    const failed = await add({ task: "test.shown", state: "failed", attempt: 3, error: ["DatabaseError", "23505"] });
    const running = await add({ task: "test.shown", state: "running" });
    const { data, text } = await list("?kind=test.shown");
    const facts = data.map(({ id, kind, state, attempt, last_error }) => [id, kind, state, attempt, last_error]);
    const expected = [
      [failed, "test.shown", "failed", 3, { class: "DatabaseError", code: "23505" }],
      [running, "test.shown", "running", 1, null],
    ];
    assert.deepEqual(facts.sort(), expected.sort());
    assert.ok(!/kanarya|payload|ornek|worker-of/.test(text));
  });

  test("filters by kind and state", async () => {
    const ids = {
      scheduled: await add({ task: "test.filtered" }),
      queued: await add({ task: "test.filtered", state: "queued" }),
      running: await add({ task: "test.filtered", state: "running" }),
      failed: await add({ task: "test.filtered", state: "failed", error: ["TransientJobError", null] }),
    };
    for (const [state, id] of Object.entries(ids)) {
      const { data } = await list(`?kind=test.filtered&state=${state}`);
      assert.deepEqual(
        data.map((job) => [job.id, job.state]),
        [[id, state]],
      );
    }
    assert.equal((await list("?kind=test.filtered")).data.length, 4);
    assert.deepEqual((await list("?kind=test.unheard_of")).data, []);
    assert.equal((await service.send("GET", "/v1/admin/jobs?state=done", { headers: staff.auth })).status, 422);
  });

  test("page by page, each once, also those of one moment; a cursor is bound to its filters", async () => {
    const made = await Promise.all(Array.from({ length: 7 }, () => add({ task: "test.paged" })));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await list(`?kind=test.paged&limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    assert.deepEqual(seen.toSorted(), made.toSorted());
    const { next_cursor } = await list("?kind=test.paged&limit=3");
    const other = await service.send("GET", `/v1/admin/jobs?cursor=${next_cursor}`, { headers: staff.auth });
    assert.equal(other.json?.code, "invalid_cursor");
  });

  test("the database shows jobs in no other scope: not for an account, the platform or the system", async () => {
    for (const scope of ["account", "platform", "system", ""]) {
      const client = await service.database.app.connect();
      try {
        await client.query("begin");
        await client.query("select set_config('emanet.scope', $1, true)", [scope]);
        const asked = client.query("select * from emanet.list_jobs(null, null, null, null, 10, now())");
        await assert.rejects(asked, { code: "42501" }, scope);
      } finally {
        await client.query("rollback");
        client.release();
      }
    }
  });

  test("a job of the service itself is there while it waits", async () => {
    const { data } = await list("?state=scheduled&limit=100");
    assert.ok(
      data.some(({ kind }) => kind === "identity.purge"),
      data.map(({ kind }) => kind).join(" "),
    );
  });
});
