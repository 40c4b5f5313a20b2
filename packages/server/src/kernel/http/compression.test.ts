import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { endpoints } from "../../endpoints.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { sendHttp1, sendHttp2, type TestRequest } from "../../testing/https.ts";
import { startTestService } from "../../testing/running.ts";
import { carriesNoSecret, chooseEncoding } from "./compression.ts";
import { endpoint } from "./endpoint.ts";
import { closed, text } from "./schema.ts";

const spec = {
  tag: "health",
  summary: "For tests",
  description: "For tests.",
  access: { kind: "public" },
  replies: { 200: { description: "Fine.", body: closed({ text: text(5000) }, { title: "LongText" }) } },
} as const;
const answer = (length: number) => async () => ({ status: 200, body: { text: "x".repeat(length) } }) as const;
const long = answer(4000);
const keyReply = closed({ data: closed({ signing_secret: text(5000) }) }, { title: "LongKey" });
const showKey = { ...spec, replies: { 200: { description: "Fine.", body: keyReply } } } as const;
const extra = [
  endpoint({ ...spec, id: "tests.plain", method: "GET", path: "/v1/tests/plain" }, long),
  // The object around the text has eleven bytes.
  endpoint({ ...spec, id: "tests.limit", method: "GET", path: "/v1/tests/limit" }, answer(1024 - 11)),
  endpoint({ ...spec, id: "tests.above", method: "GET", path: "/v1/tests/above" }, answer(1024 - 10)),
  endpoint({ ...spec, id: "tests.secret", method: "GET", path: "/v1/tests/secret", secret: true }, long),
  endpoint({ ...spec, id: "tests.cookie", method: "GET", path: "/v1/tests/cookie", cookies: ["__Host-refresh"] }, long),
  endpoint({ ...spec, id: "tests.sets_cookie", method: "GET", path: "/v1/tests/sets-cookie" }, async () => ({
    ...(await long()),
    headers: { "set-cookie": "a=b" },
  })),
  endpoint({ ...spec, id: "tests.oauth", method: "GET", path: "/v1/tests/oauth", wire: "oauth" }, long),
  endpoint({ ...showKey, id: "tests.key", method: "GET", path: "/v1/tests/key" }, async () => ({
    status: 200,
    body: { data: { signing_secret: "x".repeat(4000) } },
  })),
  endpoint({ ...spec, id: "tests.post", method: "POST", path: "/v1/tests/post", idempotency: "none" }, long),
];
const service = await startTestService({ after }, { extra });
const decoders = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };
const any = "gzip, br, zstd";

function ask(path: string, encoding?: string, { headers, ...call }: TestRequest = {}, send = sendHttp1) {
  const accept = encoding === undefined ? {} : { "accept-encoding": encoding };
  return send(`${service.url}${path}`, service.ca, { ...call, headers: { ...accept, ...headers } });
}

describe("an answer that is compressed", () => {
  for (const [encoding, decode] of Object.entries(decoders)) {
    test(`${encoding}: decoded it is the plain one, and both depend on Accept-Encoding`, async () => {
      for (const path of ["/v1/tests/plain", "/docs/json", "/docs/yaml"]) {
        for (const send of [sendHttp1, sendHttp2]) {
          const [plain, sent] = [await ask(path, undefined, {}, send), await ask(path, encoding, {}, send)];
          assert.equal(plain.headers["content-encoding"], undefined);
          assert.equal(sent.headers["content-encoding"], encoding, path);
          assert.equal(sent.headers["content-length"], String(sent.body.length), path);
          assert.deepEqual(decode(sent.body), plain.body, path);
          assert.ok(sent.body.length < plain.body.length / 4, `${path} ${sent.body.length}`);
          for (const { headers } of [plain, sent]) assert.match(headers.vary ?? "", /\bAccept-Encoding$/, path);
        }
      }
    });
  }

  test("has the same headers for HEAD, without the body", async () => {
    for (const path of ["/v1/tests/plain", "/docs/json"]) {
      const [got, head] = [await ask(path, "br"), await ask(path, "br", { method: "HEAD" })];
      for (const name of ["content-encoding", "content-length", "etag", "vary"]) {
        assert.equal(head.headers[name], got.headers[name], `${path} ${name}`);
      }
      assert.deepEqual([head.body.length, got.headers["content-encoding"]], [0, "br"]);
    }
  });

  test("has an ETag of its own, which gets 304 and which a change accepts", async () => {
    const [plain, sent] = [await ask("/v1/tests/plain"), await ask("/v1/tests/plain", "gzip")];
    assert.equal(sent.headers.etag, plain.headers.etag?.replace(/"$/, '.gzip"'));
    for (const { headers } of [plain, sent]) {
      const again = await ask("/v1/tests/plain", "gzip", { headers: { "if-none-match": headers.etag ?? "" } });
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, headers.etag]);
      assert.deepEqual([again.headers.vary, again.headers["content-encoding"]], ["Accept-Encoding", undefined]);
    }
    const { auth } = await tokenFor(service);
    const { etag = "" } = (await service.send("GET", "/v1/account", { headers: auth })).headers;
    const change = (condition: string) =>
      service.send("PATCH", "/v1/account", { json: { name: "Ofis" }, headers: { ...auth, "if-match": condition } });
    assert.equal((await change(etag.replace(/"$/, '.lzma"'))).status, 412);
    assert.equal((await change(etag.replace(/"$/, '.br"'))).status, 200);
  });

  test("is one above 1 KiB, and a problem of any operation", async () => {
    assert.equal((await ask("/v1/tests/limit", any)).headers["content-encoding"], undefined);
    assert.equal((await ask("/v1/tests/above", any)).headers["content-encoding"], "zstd");
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`unknown_${at}`, at])));
    const headers = { "content-type": "application/json" };
    const problem = await ask("/applications", any, { method: "POST", headers, body: many });
    assert.deepEqual([problem.status, problem.headers["content-encoding"]], [422, "zstd"]);
  });
});

describe("an answer that may hold a secret is not compressed", () => {
  test("one of an operation that declares it, or that has a field with such a name", async () => {
    for (const path of ["/v1/tests/secret", "/v1/tests/key"]) {
      const { headers, body } = await ask(path, any);
      assert.deepEqual([headers["content-encoding"], body.length > 4000], [undefined, true], path);
    }
  });

  test("one of an operation that uses cookies, speaks OAuth, or is no GET", async () => {
    for (const path of ["/v1/tests/cookie", "/v1/tests/sets-cookie", "/v1/tests/oauth"]) {
      const { headers, body } = await ask(path, any);
      assert.deepEqual([headers["content-encoding"], body.length > 4000], [undefined, true], path);
    }
    const { headers, body } = await ask("/v1/tests/post", any, { method: "POST" });
    assert.deepEqual([headers["content-encoding"], body.length > 4000], [undefined, true]);
  });

  test("of our own operations, all but reads of the JSON API and the files of the dashboard", () => {
    const compressed = endpoints.filter(({ spec: own }) => carriesNoSecret(own)).map(({ spec: own }) => own);
    assert.ok(compressed.some(({ id }) => id === "members.list"));
    const others = compressed.filter(
      ({ method, path }) => method !== "GET" || !/^\/(?:(?:v1|health|docs|\.well|app|assets)|$)/.test(path),
    );
    assert.deepEqual(others, []);
  });
});

test("the client's weights decide, then our order; what it refuses or does not name is not used", () => {
  const cases: [string | undefined, string | null][] = [
    [undefined, null],
    ["", null],
    ["identity", null],
    ["deflate", null],
    ["gzip", "gzip"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip;q=1.0, br;q=0.5", "gzip"],
    ["GZIP ; Q=0.8, br;q=0", "gzip"],
    ["*", "zstd"],
    ["*;q=0", null],
    ["gzip;q=0", null],
    ["gzip;q=0.000, br;q=0.0", null],
    ["zstd;q=0, *", "br"],
    ["gzip;q=nonsense", null],
    ["gzip;q=-1, br;q=1e9", null],
    ["identity;q=1, gzip;q=0.5", null],
    ["identity;q=0.5, gzip", "gzip"],
    [",,;q=1,", null],
  ];
  for (const [header, expected] of cases) assert.equal(chooseEncoding(header), expected, header ?? "none");
});
