import assert from "node:assert/strict";
import { METHODS } from "node:http";
import { after, describe, test } from "node:test";
import { problemCodes, problems } from "../../declarations.ts";
import { endpoints } from "../../endpoints.ts";
import { createNotesTable, noteEndpoints } from "../../testing/notes.ts";
import { exchangeRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import { scaled } from "../../testing/scale.ts";
import type { ProblemCode } from "../problems.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
const all = [...endpoints, ...noteEndpoints];

const service = await startTestService({ after }, { extra: noteEndpoints });
await createNotesTable(service.database.owner);

/** Every guarantee holds over both versions of HTTP. */
for (const http2 of [false, true]) {
  const send = (method: string, path: string, call: TestCall = {}) => service.send(method, path, { ...call, http2 });
  const version = http2 ? "HTTP/2" : "HTTP/1.1";

  describe(`${version}: request ids`, () => {
    test("a client's own id of the right form is taken in the header and the body; the instance is a UUID of ours", async () => {
      for (const id of ["a", "Ab_9-x", "x".repeat(64)]) {
        const answer = await send("GET", "/nowhere", { headers: { "x-request-id": id } });
        assert.equal(answer.headers["x-request-id"], id);
        assert.equal(answer.json?.request_id, id);
        assert.match(String(answer.json?.instance), /^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      }
    });

    test("any other is replaced by one of ours, a UUIDv7 that no other request has", async () => {
      const ids = new Set<unknown>();
      const forms = ["", " ", "x".repeat(65), "a b", "a.b", "ş", "<b>", "a,b", "a\tb"];
      for (const form of forms) {
        const headers = { "x-request-id": Buffer.from(form).toString("latin1") };
        const answer = await send("GET", "/health/live", { headers });
        ids.add(answer.headers["x-request-id"]);
        assert.match(answer.headers["x-request-id"] ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
      }
      assert.equal(ids.size, forms.length);
    });
  });

  describe(`${version}: problems`, () => {
    test("a problem has every member of the contract, and the address of its page", async () => {
      const { status, headers, json } = await send("GET", "/nowhere");
      assert.equal(status, 404);
      assert.equal(headers["content-type"], "application/problem+json; charset=utf-8");
      assert.equal(headers["cache-control"], "no-store");
      assert.deepEqual(json, {
        type: `${service.url}/docs/errors/not_found`,
        title: problems.not_found.title.en,
        status: 404,
        code: "not_found",
        detail: problems.not_found.detail.en,
        instance: `urn:uuid:${headers["x-request-id"]}`,
        request_id: headers["x-request-id"],
      });
    });

    test("the words follow Accept-Language, the code never changes", async () => {
      for (const [header, language] of [
        ["tr", "tr"],
        ["tr-TR,tr;q=0.9,en-US;q=0.8,en;q=0.7", "tr"],
        ["en-GB, tr;q=0.5", "en"],
        ["de, tr;q=0.1", "tr"],
        ["TR", "tr"],
        ["tr;q=0", "en"],
        ["de", "en"],
        ["*", "en"],
        ["x".repeat(10_000), "en"],
        [";;,,=q", "en"],
      ] as const) {
        const { json, headers } = await send("GET", "/nowhere", { headers: { "accept-language": header } });
        assert.deepEqual([json?.title, json?.code], [problems.not_found.title[language], "not_found"], header);
        assert.equal(headers["content-language"], language);
      }
    });
  });

  describe(`${version}: addresses`, () => {
    test("what does not exist is not_found, also near what does: case, slashes, dots and encodings", async () => {
      for (const path of [
        "/nowhere",
        "/v1",
        "/v1/",
        "/v1/nowhere",
        "/health",
        "/health/live/",
        "//health/live",
        "/Health/live",
        "/health/live/x",
        "/health/live.",
        "/applications/",
        "/v1//applications",
        "/vault",
      ]) {
        const { status, json } = await send("GET", path);
        assert.deepEqual([status, json?.code], [404, "not_found"], path);
      }
    });

    test("another major version is unknown_version, for every method and path under it", async () => {
      for (const path of ["/v2", "/v2/", "/v2/snapshots", "/v0/x", "/v10/applications?x=1", "/v2?x"]) {
        for (const method of ["GET", "POST", "DELETE"]) {
          const { status, json } = await send(method, path);
          assert.deepEqual([status, json?.code], [404, "unknown_version"], `${method} ${path}`);
        }
      }
    });

    test("percent signs that are no encoding, and bytes that are no UTF-8, are malformed_request", async () => {
      for (const path of ["/%", "/%zz", "/health/%ff", "/v1/test-notes/%e0%a4", "/%c3%28"]) {
        const { status, json } = await send("GET", path, { headers: { authorization } });
        assert.deepEqual([status, json?.code], [400, "malformed_request"], path);
      }
    });

    test("an address of up to 16 KiB is looked up; a longer one is uri_too_long", async () => {
      assert.equal((await send("GET", `/${"a".repeat(16_000)}`)).status, 404);
      const { status, json } = await send("GET", `/${"a".repeat(17_000)}`);
      assert.deepEqual([status, json?.code], [414, "uri_too_long"]);
    });

    test("a parameter as long as a path of 4096 encoded bytes reaches its endpoint, which validates it", async () => {
      const { status, json } = await send("GET", `/v1/test-notes/${"%41".repeat(4096)}`, {
        headers: { authorization },
      });
      assert.deepEqual([status, json?.code], [422, "validation_failed"]);
    });
  });

  describe(`${version}: methods`, () => {
    const addresses = new Map<string, Set<string>>();
    for (const { spec } of all) {
      for (const path of [spec.path, ...(spec.aliases ?? [])]) {
        const known = addresses.get(path) ?? new Set();
        addresses.set(path, known.add(spec.method));
        if (spec.method === "GET") known.add("HEAD");
      }
    }
    /** As an example of an address with a parameter. */
    const filled = (path: string) => path.replaceAll(/\{\w+\}/g, account);

    const isLongForm = scaled(0, 1) === 1;

    test("405 on every address for every method that it does not know, with those that it knows in Allow", async () => {
      const all = http2 ? [...METHODS, "BREW", "get"] : METHODS;
      const everyMethod = all.filter((method) => method !== "CONNECT");
      // Every method on a few addresses, a few methods on every address; over HTTP/2, which has the same routes, in the long form.
      const thorough = new Set(["/applications", "/docs/json", "/v1/test-notes/{id}"]);
      const usual = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];
      for (const [path, known] of addresses) {
        // There the guard answers first: tests/access/admin-guard.test.ts.
        if (path.startsWith("/v1/admin/")) continue;
        if (http2 && !thorough.has(path) && !isLongForm) continue;
        const others = (thorough.has(path) ? everyMethod : usual).filter((method) => !known.has(method));
        const answers = await Promise.all(others.map((method) => send(method, filled(path))));
        for (const [index, { status, headers, json }] of answers.entries()) {
          const where = `${others[index]} ${path}`;
          assert.deepEqual([status, headers.allow], [405, [...known].sort().join(", ")], where);
          const said = path.startsWith("/oauth2/") ? ["error", "invalid_request"] : ["code", "method_not_allowed"];
          if (others[index] !== "HEAD") assert.equal(json?.[said[0] ?? ""], said[1], where);
        }
      }
    });

    test("HEAD answers like GET, with the same headers and no body", async () => {
      for (const path of ["/health/live", "/docs/json", "/v1/test-notes/nowhere"]) {
        const get = await send("GET", path, { headers: { authorization, "x-request-id": "same" } });
        const head = await send("HEAD", path, { headers: { authorization, "x-request-id": "same" } });
        assert.equal(head.body.length, 0);
        const {
          date: _1,
          "x-ratelimit-remaining": _2,
          ratelimit: _7,
          "transfer-encoding": _3,
          ...expected
        } = get.headers;
        const {
          date: _4,
          "x-ratelimit-remaining": _5,
          ratelimit: _8,
          "transfer-encoding": _6,
          ...actual
        } = head.headers;
        assert.deepEqual({ status: head.status, ...actual }, { status: get.status, ...expected }, path);
      }
    });
  });

  describe(`${version}: headers of every answer`, () => {
    /** One answer of each kind that the application writes. */
    const samples: readonly [number, ProblemCode | null, string, string, TestCall?][] = [
      [200, null, "GET", "/health/live"],
      [200, null, "GET", "/v1/test-notes", { headers: { authorization } }],
      [201, null, "POST", "/v1/test-notes", { headers: { authorization }, json: { text: "x" } }],
      [304, null, "GET", "/health/live", { headers: { "if-none-match": "*" } }],
      [400, "unknown_parameter", "GET", "/health/live?x=1"],
      [400, "malformed_request", "GET", "/%zz"],
      [401, "missing_token", "GET", "/v1/test-notes"],
      [403, "insufficient_scope", "GET", "/v1/test-notes", { headers: { authorization: bearer([]) } }],
      [404, "not_found", "GET", "/nowhere"],
      [405, "method_not_allowed", "PUT", "/health/live"],
      [406, "not_acceptable", "GET", "/health/live", { headers: { accept: "image/png" } }],
      [413, "payload_too_large", "POST", "/v1/test-notes/slow", { headers: { authorization }, body: "x" }],
      [414, "uri_too_long", "GET", `/${"a".repeat(17_000)}`],
      [415, "unsupported_media_type", "POST", "/applications", { body: "x" }],
      [422, "validation_failed", "POST", "/applications", { json: {} }],
      [500, "internal_error", "GET", "/v1/test-notes/leaky"],
      [503, "unavailable", "POST", "/v1/test-notes/slow", { headers: { authorization } }],
    ];

    test("request id, rate headers and safety headers are on every answer; CORS is on none of these", async () => {
      service.clock.advance(3_600_000);
      for (const [status, code, method, path, call] of samples) {
        const answer = await send(method, path, call);
        assert.deepEqual([answer.status, answer.json?.code ?? null], [status, status === 200 ? null : code], path);
        const { headers } = answer;
        for (const name of ["limit", "remaining", "reset"]) {
          assert.match(headers[`x-ratelimit-${name}`] ?? "", /^\d+$/, `${path} ${name}`);
        }
        assert.match(headers["x-request-id"] ?? "", /^[\w-]{1,64}$/);
        assert.equal(headers["x-content-type-options"], "nosniff", path);
        assert.equal(headers["referrer-policy"], "no-referrer", path);
        assert.equal(headers["strict-transport-security"], "max-age=31536000", path);
        assert.match(headers["content-security-policy"] ?? "", /default-src 'none'.*frame-ancestors 'none'/, path);
        const foreign = Object.keys(headers).filter((name) =>
          /^access-control|^server$|^x-powered-by|^set-cookie/.test(name),
        );
        assert.deepEqual(foreign, [], path);
      }
    });

    test("an answer says its length in bytes, HEAD the length that GET would have, and a 304 none", async () => {
      for (const path of ["/health/live", "/nowhere", "/docs/errors/not_found"]) {
        const headers = { "accept-language": "tr" };
        const get = await send("GET", path, { headers });
        assert.equal(get.headers["content-length"], String(Buffer.byteLength(get.body)), path);
        const head = await send("HEAD", path, { headers });
        assert.deepEqual([head.headers["content-length"], head.body.length], [get.headers["content-length"], 0], path);
      }
      const unchanged = await send("GET", "/health/live", { headers: { "if-none-match": "*" } });
      assert.deepEqual([unchanged.headers["content-length"], unchanged.body.length], [undefined, 0]);
    });

    test("other origins may read the document and nothing else", async () => {
      const headers = { origin: "https://other.example" };
      assert.equal((await send("GET", "/docs/json", { headers })).headers["access-control-allow-origin"], "*");
      for (const path of ["/health/live", "/applications", "/nowhere", "/docs"]) {
        assert.equal((await send("GET", path, { headers })).headers["access-control-allow-origin"], undefined, path);
      }
    });

    test("the rate headers are those of the limit with least left, and count every request", async () => {
      const before = await send("GET", "/nowhere");
      const next = await send("GET", "/nowhere");
      assert.equal(next.headers["x-ratelimit-limit"], "100000");
      assert.ok(Number(next.headers["x-ratelimit-remaining"]) <= Number(before.headers["x-ratelimit-remaining"]));
      const application = await send("POST", "/applications", { json: {} });
      assert.equal(application.headers["x-ratelimit-limit"], "5");
    });
  });
}

function bearer(scopes: Parameters<typeof testToken>[2]): string {
  return `Bearer ${testToken(account, "client-1", scopes)}`;
}

test("every code has its page, where a problem's type points", async () => {
  const answers = await Promise.all(problemCodes.map((code) => service.send("GET", `/docs/errors/${code}`)));
  for (const [index, { status, headers, body }] of answers.entries()) {
    const code = problemCodes[index] ?? "";
    assert.deepEqual([status, headers["content-type"]?.split(";")[0]], [200, "text/html"], code);
    assert.ok(body.includes(code));
  }
});

test("OPTIONS * and an absolute address are answered from the catalogue; the host in them means nothing", async () => {
  const star = await exchangeRaw(service, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  assert.match(star, /^HTTP\/1\.1 40[45] .*application\/problem\+json/s);
  const absolute = "GET https://evil.example/health/live HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
  const live = await exchangeRaw(service, absolute);
  const missing = await exchangeRaw(service, "GET /x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  assert.ok(missing.includes(`"type":"${service.url}/docs/errors/not_found"`));
  assert.match(live, /^HTTP\/1\.1 200 /);
  assert.ok(!(live + missing).includes("evil.example"));
});

test("each request has one line in the log: operation, status, method, protocol, and no address or query", async () => {
  const before = service.logLines.length;
  const id = "logged-once";
  await service.send("GET", "/health/live?kanarya=1", { headers: { "x-request-id": id }, http2: true });
  await service.send("GET", "/kanarya/nowhere", { headers: { "x-request-id": id } });
  const lines = service.logLines.slice(before).filter((line) => line.includes(id));
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    parsed.map(({ operation, status, method, protocol }) => ({ operation, status, method, protocol })),
    [
      { operation: "health.live", status: 400, method: "GET", protocol: "h2" },
      { operation: undefined, status: 404, method: "GET", protocol: "http/1.1" },
    ],
  );
  assert.ok(!service.logLines.join().includes("kanarya"));
});
