import assert from "node:assert/strict";
import http2Client from "node:http2";
import { after, describe, test } from "node:test";
import { endpoints } from "../../endpoints.ts";
import { createNotesTable, noteEndpoints } from "../../testing/notes.ts";
import { openRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import { maxJsonBodyBytes, maxPublicBodyBytes } from "./endpoint.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;

const service = await startTestService(
  { after },
  { extra: noteEndpoints, settings: { EMANET_LIMIT_LOGIN_IP: "100000/60" } },
);
await createNotesTable(service.database.owner);

const note = JSON.stringify({ text: "x" });

for (const http2 of [false, true]) {
  const send = (method: string, path: string, { headers, ...call }: TestCall = {}) =>
    service.send(method, path, { ...call, headers: { authorization, ...headers }, http2 });
  const version = http2 ? "HTTP/2" : "HTTP/1.1";

  describe(`${version}: media types`, () => {
    test("JSON in UTF-8 is taken, in every spelling of that", async () => {
      for (const type of [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        'application/json; charset="UTF-8"',
        "application/json ; charset = utf-8",
      ]) {
        const { status } = await send("POST", "/v1/test-notes", { body: note, headers: { "content-type": type } });
        assert.equal(status, 201, type);
      }
    });

    test("any other type, charset or coding, and none at all, is unsupported_media_type", async () => {
      const types = [
        "text/plain",
        "application/json; charset=iso-8859-9",
        "application/jsonx",
        "json",
        ";",
        "a/b/c",
        "*/*",
      ];
      for (const type of [...types, "application/json, text/plain", "application/json; charset=utf-8; x=1", "ş"]) {
        const headers = { "content-type": Buffer.from(type).toString("latin1") };
        const { status, json } = await send("POST", "/v1/test-notes", { body: note, headers });
        assert.deepEqual([status, json?.code], [415, "unsupported_media_type"], type);
      }
      for (const coding of ["gzip", "br", "zstd", "deflate", "identity, gzip", "unknown", ""]) {
        const headers = { "content-type": "application/json", "content-encoding": coding };
        const { status } = await send("POST", "/v1/test-notes", { body: note, headers });
        assert.equal(status, 415, coding);
      }
      assert.equal((await send("POST", "/v1/test-notes", { body: note })).status, 415);
      const identity = { "content-type": "application/json", "content-encoding": "identity" };
      assert.equal((await send("POST", "/v1/test-notes", { body: note, headers: identity })).status, 201);
    });

    test("an unsupported type does not change the answer for an unknown address or method", async () => {
      const headers = { "content-type": "nonsense" };
      assert.equal((await send("POST", "/nowhere", { body: "x", headers })).status, 404);
      assert.equal((await send("PUT", "/health/live", { body: "x", headers })).status, 405);
    });

    test("an answer that the client could not read is not_acceptable; one that it could is given", async () => {
      for (const accept of [
        "text/html",
        "application/xml",
        "image/*",
        "application/json;q=0",
        "text/*;q=1, x/y",
        "nonsense",
      ]) {
        const { status, json } = await send("GET", "/health/live", { headers: { accept } });
        assert.deepEqual([status, json?.code], [406, "not_acceptable"], accept);
      }
      for (const accept of [
        "",
        "*/*",
        "application/json",
        "application/*",
        "APPLICATION/JSON; charset=utf-8",
        "text/html, application/xhtml+xml, */*;q=0.8",
        "text/html;q=1,application/json;q=0.1",
        "*/*;q=0.5, application/json;q=0.0001",
      ]) {
        assert.equal((await send("GET", "/health/live", { headers: { accept } })).status, 200, accept);
      }
    });
  });

  describe(`${version}: sizes`, () => {
    /** Padding inside the text makes a body of exactly so many bytes. */
    const sized = (bytes: number) => JSON.stringify({ text: "x".repeat(bytes - 11) });
    const type = { "content-type": "application/json" };

    test("a body of the limit is read, one byte more is payload_too_large, announced or not", async () => {
      assert.equal(sized(maxJsonBodyBytes).length, maxJsonBodyBytes);
      assert.equal(
        (await send("POST", "/v1/test-notes", { body: sized(maxJsonBodyBytes), headers: type })).status,
        422,
      );
      for (const headers of [{ ...type, "content-length": String(maxJsonBodyBytes + 1) }, type]) {
        const chunked = !("content-length" in headers) && !http2 ? { "transfer-encoding": "chunked" } : {};
        const call = { body: sized(maxJsonBodyBytes + 1), headers: { ...headers, ...chunked } };
        const { status, json } = await send("POST", "/v1/test-notes", call);
        assert.deepEqual([status, json?.code], [413, "payload_too_large"], JSON.stringify(headers));
      }
    });

    test("where no token is needed 8 KiB are read, for an application 16 KiB, and not a byte more", async () => {
      assert.deepEqual([maxPublicBodyBytes, maxJsonBodyBytes], [8 * 1024, 1024 * 1024]);
      const operations = endpoints.filter(({ spec }) => spec.access.kind === "public" && (spec.body ?? spec.form));
      assert.ok(operations.length > 15);
      for (const { spec } of operations) {
        const limit = spec.id === "applications.submit" ? 16 * 1024 : maxPublicBodyBytes;
        const path = spec.path.replace("{uid}", "x".repeat(43));
        const typed = spec.body ? type : { "content-type": "application/x-www-form-urlencoded" };
        const body = (bytes: number) => (spec.body ? sized(bytes) : "x".repeat(bytes));
        // One address sends no more applications than a few; the refusals of its limit come before the body.
        if (http2 && spec.id === "applications.submit") continue;
        const within = await service.send(spec.method, path, { body: body(limit), headers: typed, http2 });
        assert.notEqual(within.status, 413, spec.id);
        for (const announced of [true, false]) {
          const length: Record<string, string> = announced ? { "content-length": String(limit + 1) } : {};
          const chunked: Record<string, string> = announced || http2 ? {} : { "transfer-encoding": "chunked" };
          const headers = { ...typed, ...length, ...chunked };
          const beyond = await service.send(spec.method, path, { body: body(limit + 1), headers, http2 });
          assert.equal(beyond.status, 413, `${spec.id} ${JSON.stringify(headers)}`);
        }
      }
    });

    test("85 000 unknown fields: 413 for a stranger, twenty findings for a member", async () => {
      const fields = Array.from({ length: 85_000 }, (_, at) => `"f${at}":1`).join(",");
      const call = { body: `{${fields}}`, headers: type };
      assert.ok(call.body.length < maxJsonBodyBytes);
      const stranger = await service.send("POST", "/v1/auth/login", { ...call, http2 });
      assert.deepEqual([stranger.status, stranger.json?.code], [413, "payload_too_large"]);
      const member = await send("POST", "/v1/test-notes", call);
      const { errors } = member.json as { readonly errors: readonly unknown[] };
      assert.deepEqual([member.status, errors.length], [422, 20]);
    });

    test("a body that goes on and on is refused while it is still coming", async () => {
      const { status } = await send("POST", "/v1/test-notes", {
        body: Buffer.alloc(8 * 1024 * 1024, " "),
        headers: type,
      });
      assert.equal(status, 413);
    });

    test("an operation that takes no body refuses one; an empty one is none", async () => {
      for (const [method, path] of [
        ["GET", "/health/live"],
        ["GET", "/v1/test-notes"],
        ["POST", "/v1/test-notes/slow"],
      ] as const) {
        const announced = await send(method, path, { body: "{}", headers: { "content-length": "2" } });
        assert.deepEqual([announced.status, announced.json?.code], [413, "payload_too_large"], `${method} ${path}`);
        const chunked = http2 ? {} : { "transfer-encoding": "chunked" };
        const unannounced = await send(method, path, { body: "{}", headers: chunked });
        assert.deepEqual([unannounced.status, unannounced.json?.code], [413, "payload_too_large"], `${method} ${path}`);
      }
      for (const body of ['{"a":1}', "[]", "null", "{} {}", " ".repeat(17), "x"]) {
        const { status } = await send("POST", "/v1/auth/logout", { body, headers: type });
        assert.equal(status, 413, body);
      }
      assert.equal((await send("GET", "/health/live", { body: "{}", headers: type })).status, 413);
      assert.equal((await send("GET", "/health/live", { headers: { "content-length": "0" } })).status, 200);
      assert.equal((await send("GET", "/health/live", { body: "" })).status, 200);
      if (!http2) {
        const empty = { "transfer-encoding": "chunked" };
        assert.equal((await send("GET", "/health/live", { headers: empty })).status, 200);
      }
    });
  });
}

describe("bodies of those who may not send them", () => {
  test("every operation that needs a token answers 401 without one before a byte of the body is there", async () => {
    const operations = endpoints.filter(({ spec }) => spec.access.kind !== "public" && spec.body !== undefined);
    assert.ok(operations.length > 20);
    for (const { spec } of operations) {
      for (const token of ["", "Authorization: Bearer nonsense\r\n"]) {
        const raw = await openRaw(service);
        const path = spec.path.replaceAll(/\{\w+\}/g, account);
        raw.socket.write(
          `${spec.method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${token}Content-Length: 100\r\n\r\n`,
        );
        assert.match(await raw.until(/\r\n\r\n\{.*\}/s), /^HTTP\/1\.1 401 /, spec.id);
        raw.socket.destroy();
      }
    }
  });
});

describe("Expect: 100-continue", () => {
  const head = (lines: readonly string[]) =>
    `${["POST /v1/test-notes HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Type: application/json", ...lines].join("\r\n")}\r\n\r\n`;
  const applicationHead = head([`Content-Length: ${note.length}`]).replace("/v1/test-notes", "/applications");

  test("HTTP/1.1: 401, 413 and 415 come instead of the invitation to send", async () => {
    const bearer = `Authorization: ${authorization}`;
    for (const [status, lines] of [
      [401, [`Content-Length: ${note.length}`]],
      [413, [`Content-Length: ${maxJsonBodyBytes + 1}`, bearer]],
      [415, [`Content-Length: ${note.length}`, "Content-Encoding: gzip", bearer]],
    ] as const) {
      const raw = await openRaw(service);
      raw.socket.write(head(lines));
      assert.match(await raw.until(/\r\n\r\n\{.*\}/s), new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.ok(!raw.received().includes("100 Continue"));
      raw.socket.destroy();
    }
  });

  test("HTTP/1.1: 429 comes instead of the invitation to send", async () => {
    for (let request = 0; request < 5; request++) await service.send("POST", "/applications", { json: {} });
    const raw = await openRaw(service);
    raw.socket.write(applicationHead);
    assert.match(await raw.until(/\r\n\r\n\{.*\}/s), /^HTTP\/1\.1 429 .*retry-after: \d+/is);
    raw.socket.destroy();
  });

  test("HTTP/1.1: a request that may go on is invited, and answered after its body", async () => {
    const raw = await openRaw(service);
    raw.socket.write(head([`Content-Length: ${note.length}`, `Authorization: ${authorization}`]));
    await raw.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    raw.socket.write(note);
    await raw.until(/HTTP\/1\.1 201 .*"text":"x"/s);
    raw.socket.destroy();
  });

  /** Sends the head, then the body only when it is invited to. */
  function expectHttp2(session: http2Client.ClientHttp2Session, headers: Record<string, string>) {
    return new Promise<{ status: number; invited: boolean }>((resolve, reject) => {
      const common = { ":method": "POST", ":path": "/v1/test-notes", "content-type": "application/json" };
      const stream = session.request({ ...common, expect: "100-continue", ...headers }, { endStream: false });
      let invited = false;
      stream.on("continue", () => {
        invited = true;
        stream.end(note);
      });
      stream.on("response", (received) => {
        resolve({ status: Number(received[":status"]), invited });
        stream.close();
      });
      stream.on("error", reject);
    });
  }

  test("HTTP/2: 401, 413, 415 and 429 come instead of the invitation; what may go on is invited", async (t) => {
    const session = http2Client.connect(service.url, { ca: service.ca });
    t.after(() => session.destroy());
    const known = { authorization };
    for (const [status, headers] of [
      [401, {}],
      [413, { ...known, "content-length": String(maxJsonBodyBytes + 1) }],
      [415, { ...known, "content-type": "text/plain" }],
      [429, { ":path": "/applications" }],
    ] as const) {
      assert.deepEqual(await expectHttp2(session, headers), { status, invited: false });
    }
    assert.deepEqual(await expectHttp2(session, known), { status: 201, invited: true });
  });
});
