import assert from "node:assert/strict";
import http2Client from "node:http2";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { createNotesTable, noteEndpoints } from "../../testing/notes.ts";
import { openRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import type { Authenticator, OauthScope } from "../principal.ts";
import { endpoint } from "./endpoint.ts";
import { closed, Type } from "./schema.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const bearer = (...scopes: OauthScope[]) => `Bearer ${testToken(account, "client-1", scopes)}`;
const writer = { authorization: bearer("account:read", "account:write") };

const open = { access: { kind: "public" }, tag: "health", summary: "For tests", description: "For tests." } as const;
const fine = { 200: { description: "Fine.", body: closed({ ok: Type.Boolean() }) } };

/** Waits in the database for a lock that a test holds. */
const waiting = endpoint(
  { ...open, id: "tests.waiting", method: "POST", path: "/v1/test-waiting", replies: fine },
  async (ctx) => {
    await ctx.tx({ kind: "platform" }, (tx) => sql`select pg_advisory_xact_lock(4711)`.execute(tx.db));
    return { status: 200, body: { ok: true } };
  },
);

/** Makes its transaction after a pause in which the client may have left. */
const hesitant = endpoint(
  { ...open, id: "tests.hesitant", method: "GET", path: "/v1/test-hesitant", replies: fine },
  async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
    await ctx.tx({ kind: "platform" }, async () => undefined);
    return { status: 200, body: { ok: true } };
  },
);

/** Answers a status that its spec lacks. */
const surprising = endpoint(
  { ...open, id: "tests.surprising", method: "GET", path: "/v1/test-surprising", replies: fine },
  async () => ({ status: 299, body: { ok: true } }) as never,
);

const staffOnly = endpoint(
  { ...open, id: "tests.staff", method: "GET", path: "/v1/test-staff", access: { kind: "staff" }, replies: fine },
  async () => ({ status: 200, body: { ok: true } }),
);

const extra = [...noteEndpoints, waiting, hesitant, surprising, staffOnly];
const service = await startTestService({ after }, { extra });
await createNotesTable(service.database.owner);

/** Words that must never leave or be logged; the notes' failures carry them. */
const insides = /ayse|ornek|sızdı|password|legal_hold|\.ts\b|Error:|select |emanet\./i;

async function eventually(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let waited = 0; waited < 20_000; waited += 20) {
    if (await condition()) return;
    await delay(20);
  }
  assert.fail(`not in time: ${what}`);
}

async function inFlight({ running } = service): Promise<number> {
  const text = await (await fetch(running.metricsUrl ?? "")).text();
  return Number(/^emanet_http_requests_in_flight (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

const failures = () => service.logLines.filter((line) => line.includes('"request_failed"'));

for (const http2 of [false, true]) {
  const send = (method: string, path: string, call: TestCall = {}) => service.send(method, path, { ...call, http2 });
  const version = http2 ? "HTTP/2" : "HTTP/1.1";

  describe(`${version}: access`, () => {
    test("401 without a token says how to sign in, before anything else is looked at", async () => {
      const answer = await send("POST", "/v1/test-notes?x=1", { body: "{", headers: { "content-type": "text/plain" } });
      assert.deepEqual([answer.status, answer.json?.code], [401, "missing_token"]);
      assert.equal(answer.headers["www-authenticate"], 'Bearer realm="emanet"');
    });

    test("401 for a token that is none says so, also where none is needed", async () => {
      for (const authorization of ["Bearer nonsense", "Basic dXNlcjpwYXNz", "Bearer", "Bearer a b", "bearer ş", "x"]) {
        for (const path of ["/v1/test-notes", "/health/live", "/nowhere"]) {
          const headers = { authorization: Buffer.from(authorization).toString("latin1") };
          const answer = await send("GET", path, { headers });
          assert.deepEqual([answer.status, answer.json?.code], [401, "invalid_token"], `${authorization} ${path}`);
          assert.equal(answer.headers["www-authenticate"], 'Bearer realm="emanet", error="invalid_token"');
        }
      }
    });

    test("403 for a scope that is missing, for members on staff addresses", async () => {
      const scope = await send("GET", "/v1/test-notes", { headers: { authorization: bearer("audit:read") } });
      assert.deepEqual([scope.status, scope.json?.code], [403, "insufficient_scope"]);
      assert.equal(scope.headers["www-authenticate"], 'Bearer realm="emanet", error="insufficient_scope"');
      const staff = await send("GET", "/v1/test-staff", { headers: writer });
      assert.deepEqual([staff.status, staff.json?.code], [403, "admin_required"]);
      assert.equal((await send("GET", "/v1/test-staff")).json?.code, "missing_token");
    });

    test("404: a note of another account is indistinguishable from a missing one", async () => {
      const made = await send("POST", "/v1/test-notes", { headers: writer, json: { text: "mine" } });
      const stranger = {
        authorization: `Bearer ${testToken("0199c0de-0000-7000-8000-0000000000bb", "c", ["account:read"])}`,
      };
      const headers = { ...stranger, "x-request-id": "same" };
      const foreign = await send("GET", `/v1/test-notes/${made.json?.id}`, { headers });
      const missing = await send("GET", "/v1/test-notes/0199c0de-0000-7000-8000-00000000dead", { headers });
      const instance = "each request's own";
      assert.deepEqual([foreign.status, { ...foreign.json, instance }], [404, { ...missing.json, instance }]);
      assert.equal((await send("GET", `/v1/test-notes/${made.json?.id}`, { headers: writer })).status, 200);
    });
  });

  describe(`${version}: conditions`, () => {
    test("ETag on a resource; If-None-Match gives 304; If-Match is required, and an old one is refused", async () => {
      const { json } = await send("POST", "/v1/test-notes", { headers: writer, json: { text: "one" } });
      const path = `/v1/test-notes/${json?.id}`;
      const first = await send("GET", path, { headers: writer });
      const etag = first.headers.etag ?? "";
      const again = await send("GET", path, { headers: { ...writer, "if-none-match": etag } });
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, etag]);
      const change = { json: { text: "two" } };
      assert.equal((await send("PATCH", path, { ...change, headers: writer })).json?.code, "precondition_required");
      const old = await send("PATCH", path, { ...change, headers: { ...writer, "if-match": '"old"' } });
      assert.deepEqual([old.status, old.json?.code], [412, "precondition_failed"]);
      assert.equal((await send("PATCH", path, { ...change, headers: { ...writer, "if-match": etag } })).status, 200);
      const lost = await send("PATCH", path, { json: { text: "three" }, headers: { ...writer, "if-match": etag } });
      assert.equal(lost.status, 412, "a second change with the old ETag is refused");
      assert.notEqual((await send("GET", path, { headers: writer })).headers.etag, etag);
    });
  });

  describe(`${version}: our own faults`, () => {
    test("500 has nothing inside: not the error, not where, not what was sent", async () => {
      for (const key of [undefined, `crash-${http2}`]) {
        for (const text of ["fail:crash", "fail:undeclared"]) {
          const headers = { ...writer, ...(key && { "idempotency-key": `${key}-${text}` }) };
          const answer = await send("POST", "/v1/test-notes", { headers, json: { text } });
          assert.deepEqual([answer.status, answer.json?.code], [500, "internal_error"], `${text} ${key}`);
          assert.doesNotMatch(answer.body.toString(), insides);
          assert.deepEqual(Object.keys(answer.json ?? {}), [
            ...["type", "title", "status", "code", "detail", "instance", "request_id"],
          ]);
        }
      }
    });

    test("a reply with a field or a status that the spec lacks becomes 500, and nothing of it leaves", async () => {
      for (const path of ["/v1/test-notes/leaky", "/v1/test-surprising"]) {
        const answer = await send("GET", path);
        assert.deepEqual([answer.status, answer.json?.code], [500, "internal_error"], path);
        assert.doesNotMatch(answer.body.toString(), insides);
      }
    });

    test("each is logged once with its request id and operation, without its message", async () => {
      const before = failures().length;
      const headers = { ...writer, "x-request-id": `fault-${http2}` };
      await send("POST", "/v1/test-notes", { headers, json: { text: "fail:crash" } });
      const [line, ...more] = failures().slice(before);
      assert.deepEqual(more, []);
      const { request_id, operation, error_name } = JSON.parse(line ?? "{}") as Record<string, unknown>;
      assert.deepEqual(
        { request_id, operation, error_name },
        { request_id: `fault-${http2}`, operation: "notes.create", error_name: "Error" },
      );
      assert.doesNotMatch(line ?? "", /ayse|ornek/);
    });

    test("a transaction that failed leaves nothing: no row, no audit record, no event", async () => {
      const count = async () =>
        (
          await scoped(
            `select (select count(*) from test_notes) + (select count(*) from audit_records where action <> 'access.refused')
               + (select count(*) from events) as n`,
          )
        )[0];
      const before = await count();
      for (const text of ["fail:crash", "fail:conflict", "fail:undeclared", "fail:role"]) {
        await send("POST", "/v1/test-notes", { headers: writer, json: { text } });
      }
      assert.deepEqual(await count(), before);
    });
  });

  describe(`${version}: time`, () => {
    test("a request that misses its deadline gets 503 with Retry-After, and its change is not made", async () => {
      const answer = await send("POST", "/v1/test-notes/slow", { headers: writer });
      assert.deepEqual([answer.status, answer.json?.code], [503, "unavailable"]);
      assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/);
      assert.deepEqual(await scoped("select from test_notes where text = 'slow'"), []);
    });
  });
}

async function scoped(query: string): Promise<unknown[]> {
  const client = await service.database.app.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    return (await client.query(query)).rows;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

describe("clients that leave", () => {
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

  test("while the database works for them: nothing stays in flight, and it is no fault of ours", async (t) => {
    const holder = await service.database.owner.connect();
    t.after(async () => holder.release());
    await holder.query("select pg_advisory_lock(4711)");
    const before = failures().length;
    const session = http2Client.connect(service.url, { ca: service.ca });
    const clients = await Promise.all(Array.from({ length: 5 }, () => openRaw(service)));
    for (const client of clients) client.socket.write(post("/v1/test-waiting"));
    const stream = session.request({ ":method": "POST", ":path": "/v1/test-waiting" }, { endStream: true });
    stream.on("error", () => undefined);
    await eventually(async () => (await inFlight()) === 6, "six requests in flight");
    for (const client of clients) client.socket.destroy();
    stream.close(http2Client.constants.NGHTTP2_CANCEL);
    await eventually(async () => (await inFlight()) === 0, "none in flight");
    await holder.query("select pg_advisory_unlock(4711)");
    session.destroy();
    assert.equal((await service.send("POST", "/v1/test-waiting", {})).status, 200);
    assert.deepEqual(failures().slice(before), []);
  });

  test("before their transaction begins: it does not, and it is no fault of ours", async () => {
    const before = failures().length;
    const client = await openRaw(service);
    client.socket.write("GET /v1/test-hesitant HTTP/1.1\r\nHost: x\r\n\r\n");
    await eventually(async () => (await inFlight()) === 1, "the request is in flight");
    client.socket.destroy();
    await eventually(async () => (await inFlight()) === 0, "none in flight");
    assert.equal((await service.send("GET", "/health/ready")).status, 200);
    assert.deepEqual(failures().slice(before), []);
  });

  test("in the middle of their body: no fault of ours, and the row is not made", async () => {
    const before = failures().length;
    const head = `POST /v1/test-notes HTTP/1.1\r\nHost: x\r\nAuthorization: ${writer.authorization}\r\n`;
    const text = '{"text":"cut off"}';
    for (let length = 0; length < text.length; length += 3) {
      const client = await openRaw(service);
      const body = `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, length)}`;
      client.socket.write(head + body);
      await eventually(async () => (await inFlight()) > 0, "the request is in flight");
      client.socket.destroy();
      await eventually(async () => (await inFlight()) === 0, "none in flight");
    }
    assert.deepEqual(await scoped("select from test_notes where text = 'cut off'"), []);
    assert.deepEqual(failures().slice(before), []);
  });
});

describe("an authenticator that fails", () => {
  test("is our fault and not the client's: 500 from the catalogue, with every header, and the service goes on", async (t) => {
    const fail = () => Promise.reject(new Error("ayse@ornek.example is not in the database"));
    const failing = { authenticate: fail, again: fail, ofSession: fail };
    const broken = await startTestService(t, { authenticator: failing });
    for (const http2 of [false, true]) {
      for (const path of ["/health/live", "/nowhere", "/%zz"]) {
        const answer = await broken.send("GET", path, { http2, headers: { authorization: "Bearer x" } });
        assert.deepEqual([answer.status, answer.json?.code], [500, "internal_error"], path);
        assert.doesNotMatch(answer.body.toString(), insides);
        assert.match(answer.headers["x-ratelimit-limit"] ?? "", /^\d+$/);
      }
    }
    assert.equal((await broken.send("GET", "/health/live")).status, 200);
  });

  test("a client that leaves while it is asked leaves nothing in flight", async (t) => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const slow = await startTestService(t, {
      authenticator: {
        async authenticate() {
          asked.resolve();
          await answer.promise;
          return { kind: "refused", code: "invalid_token" };
        },
        again: async (principal) => principal,
        ofSession: async () => ({ kind: "refused", code: "invalid_token" }),
      },
    });
    const client = await openRaw(slow);
    client.socket.write("GET /health/ready HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n");
    const session = http2Client.connect(slow.url, { ca: slow.ca });
    const stream = session.request({ ":path": "/health/ready", authorization: "Bearer x" });
    stream.on("error", () => undefined);
    await asked.promise;
    await eventually(async () => (await inFlight(slow)) === 2, "two requests in flight");
    client.socket.destroy();
    stream.close(http2Client.constants.NGHTTP2_CANCEL);
    await Promise.all([client.closed, new Promise((resolve) => stream.once("close", resolve))]);
    session.destroy();
    answer.resolve();
    await eventually(async () => (await inFlight(slow)) === 0, "none in flight");
  });

  test("a service that issues no tokens refuses every one", async (t) => {
    const refuse = async () => ({ kind: "refused", code: "invalid_token" }) as const;
    const refusing: Authenticator = { authenticate: refuse, again: refuse, ofSession: refuse };
    const early = await startTestService(t, { authenticator: refusing });
    const answer = await early.send("GET", "/health/live", { headers: writer });
    assert.deepEqual([answer.status, answer.json?.code], [401, "invalid_token"]);
  });
});
