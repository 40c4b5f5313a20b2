import assert from "node:assert/strict";
import http2, { type ClientHttp2Stream } from "node:http2";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { createNotesTable } from "../testing/notes.ts";
import { startTestService, testToken } from "../testing/running.ts";
import { seen, transferEndpoints, untilSeen } from "../testing/transfers.ts";
import { claimLeaseMs } from "./upload-idempotency.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
const service = await startTestService(
  { after },
  { extra: transferEndpoints, settings: { EMANET_DRAIN_SECONDS: "0" } },
);
await createNotesTable(service.database.owner);

beforeEach(() => void seen.splice(0));

interface Post {
  readonly path?: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Its bodies may pause for long. */
const patient = "/v1/test-records";

const tar = { "content-type": "application/x-tar" };

function post(key: string, { path = "/v1/test-uploads", body = "content", headers = {} }: Post = {}) {
  return service.send("POST", path, { body, headers: { authorization, "idempotency-key": key, ...tar, ...headers } });
}

/** Begins an upload that stays open. The status is that of its answer. */
function begin(t: TestContext, key: string, path = patient) {
  const session = http2.connect(service.url, { ca: service.ca });
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  const head = {
    ":method": "POST",
    ":path": path,
    authorization,
    "idempotency-key": key,
    expect: "100-continue",
    ...tar,
  };
  const stream: ClientHttp2Stream = session.request(head, { endStream: false });
  stream.on("error", () => undefined);
  const status = new Promise<number>((resolve) => stream.once("response", (got) => resolve(Number(got[":status"]))));
  const reading = new Promise<void>((resolve) => stream.once("continue", resolve));
  return { stream, status, reading };
}

/** As the role of the service, which sees the rows of all accounts. */
async function asSystem(query: string): Promise<Record<string, unknown>[]> {
  const client = await service.database.app.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    const { rows } = await client.query(query);
    await client.query("commit");
    return rows;
  } finally {
    client.release();
  }
}

const asAnotherProcess = "update idempotency_keys set claim = gen_random_uuid() where claim is not null";

describe("an upload with an Idempotency-Key", () => {
  test("is done once: others are refused before their body while it comes, and get its answer afterwards", async (t) => {
    const first = begin(t, "once");
    await first.reading;
    for (let at = 0; at < 5; at++) {
      const other = begin(t, "once");
      assert.equal(await other.status, 409);
    }
    first.stream.end("content");
    assert.equal(await first.status, 201);
    for (let at = 0; at < 2; at++) {
      const replay = await post("once", { path: patient });
      assert.deepEqual([replay.status, replay.headers["idempotency-replayed"]], [201, "true"]);
      assert.equal(replay.json?.bytes, 7);
    }
    assert.equal(seen.length, 1, "the handler ran once");
  });

  test("holds no transaction while its body comes", async (t) => {
    const first = begin(t, "open");
    await first.reading;
    const open = await asSystem(
      "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'",
    );
    assert.deepEqual(open, []);
    first.stream.end();
    assert.equal(await first.status, 201);
  });

  test("is another request by its content, query, type, coding or headers", async () => {
    assert.equal((await post("other")).status, 201);
    const others: Post[] = [
      { body: "contenu" },
      { body: "" },
      { path: "/v1/test-uploads?after=1000000" },
      { headers: { "content-type": "application/zip" } },
      { headers: { "content-encoding": "gzip" } },
      { headers: { "x-test-mtime": "2026-01-01" } },
    ];
    for (const other of others) {
      const { status, json } = await post("other", other);
      assert.deepEqual([status, json?.code], [422, "idempotency_key_reused"], JSON.stringify(other));
    }
    const again = await post("other", { path: "/test-uploads" });
    assert.deepEqual([again.status, again.headers["idempotency-replayed"]], [201, "true"]);
    assert.equal(seen.length, 1);
  });

  test("leaves its key free when its body was not read to the end", async (t) => {
    assert.equal((await post("free", { path: "/v1/test-uploads?refuse=true" })).status, 409);
    assert.equal((await post("free", { path: "/v1/test-uploads?after=3" })).status, 409);
    assert.equal((await post("free", { headers: { "content-type": "a/b" } })).status, 415);
    const left = begin(t, "free", "/v1/test-uploads");
    await left.reading;
    left.stream.write("conte");
    left.stream.close(http2.constants.NGHTTP2_CANCEL);
    await untilSeen("gone", "stalled");
    for (;;) {
      const { status, headers } = await post("free");
      if (status === 409) continue;
      assert.deepEqual([status, headers["idempotency-replayed"]], [201, undefined]);
      break;
    }
  });

  test("is claimed for as long as it takes, by the clock that decides the end of the claim", async (t) => {
    const first = begin(t, "long");
    await first.reading;
    const ends = async () => {
      const [row] = await asSystem("select max(expires_at) as ends from idempotency_keys where claim is not null");
      return new Date(String(row?.ends)).getTime();
    };
    for (let step = 0; step < 3; step++) {
      const before = await ends();
      service.clock.advance(claimLeaseMs - 1);
      while ((await ends()) === before);
      assert.equal((await post("long", { path: patient })).status, 409);
    }
    first.stream.end("content");
    assert.equal(await first.status, 201);
  });

  test("of a process that died can be sent again after the lease, and not before", async (t) => {
    const first = begin(t, "dead");
    await first.reading;
    await asSystem(asAnotherProcess);
    first.stream.close(http2.constants.NGHTTP2_CANCEL);
    await untilSeen("gone");
    service.clock.advance(claimLeaseMs - 1);
    assert.equal((await post("dead", { path: patient })).status, 409);
    service.clock.advance(1);
    assert.equal((await post("dead", { path: patient })).status, 201);
    assert.equal((await post("dead", { path: patient })).headers["idempotency-replayed"], "true");
  });
});

describe("an answer that is recorded in the transaction of the work", () => {
  const path = patient;
  const notes = async () => Number((await asSystem("select count(*) as n from test_notes"))[0]?.n);

  test("is given again when the process fails after its commit", async () => {
    const before = await notes();
    const died = await post("dies", { path: `${path}?dies=true` });
    assert.equal(died.status, 500);
    const again = await post("dies", { path: `${path}?dies=true` });
    assert.deepEqual([again.status, again.headers["idempotency-replayed"], again.json?.bytes], [201, "true", 7]);
    assert.equal(await notes(), before + 1);
  });

  test("undoes the work of a process that lost its claim", async (t) => {
    const before = await notes();
    const first = begin(t, "lost", path);
    await first.reading;
    await asSystem(asAnotherProcess);
    first.stream.end("content");
    assert.equal(await first.status, 409);
    assert.equal(await notes(), before);
  });

  test("needs no key", async () => {
    const before = await notes();
    const headers = { authorization, ...tar };
    assert.equal((await service.send("POST", path, { body: "x", headers })).status, 201);
    assert.equal(await notes(), before + 1);
  });
});
