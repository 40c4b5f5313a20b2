import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { sendHttp1, sendHttp2 } from "../../testing/https.ts";
import { startTestService, testToken } from "../../testing/running.ts";
import { transferEndpoints } from "../../testing/transfers.ts";
import { maxUrlLength } from "./path-rules.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
/** Targets of an address within a minute that make a scan. */
const suspicious = 30;
const service = await startTestService(
  { after },
  { extra: transferEndpoints, settings: { EMANET_LIMIT_SUSPICIOUS: String(suspicious) } },
);

for (const http2 of [false, true]) {
  const wire = http2 ? sendHttp2 : sendHttp1;
  const get = async (target: string, headers: Record<string, string> = {}) => {
    const answer = await wire(`${service.url}${target}`, service.ca, { headers: { authorization, ...headers } });
    return { status: answer.status, json: JSON.parse(answer.body.toString()) as Record<string, unknown> };
  };

  describe(`${http2 ? "HTTP/2" : "HTTP/1.1"}: the rest of a path`, () => {
    for (const prefix of ["/v1/test-files", "/test-files"]) {
      test(`${prefix}: reaches the handler as the bytes that were encoded, whatever they are`, async () => {
        for (const [encoded, bytes] of [
          ["a", "a"],
          ["a/b/c.txt", "a/b/c.txt"],
          ["a%2Fb", "a/b"],
          ["a%2fb", "a/b"],
          ["%C5%9F", "ş"],
          ["..", ".."],
          ["../../etc", "../../etc"],
          ["a/./b", "a/./b"],
          ["%2e%2e/x", "../x"],
          ["", ""],
          ["/", "/"],
          ["a//b", "a//b"],
          ["a/", "a/"],
          ["%00", "\0"],
          ["a%0Ab", "a\nb"],
          ["a%20b+c", "a b+c"],
          ["%25zz", "%zz"],
          ["%2525", "%25"],
          ["a%3Fb%23c", "a?b#c"],
          ["a;b=c&d", "a;b=c&d"],
          ["-", "-"],
          [":id", ":id"],
          ["*", "*"],
        ] as const) {
          const { status, json } = await get(`${prefix}/42/files/${encoded}`);
          assert.deepEqual([status, json.id], [200, "42"], encoded);
          assert.equal(Buffer.from(String(json.path), "base64").toString(), bytes, encoded);
        }
      });

      test(`${prefix}: may be no text`, async () => {
        const every = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
        const encoded = [...every].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
        const { json } = await get(`${prefix}/x/files/${encoded}?missing=false`);
        assert.equal(json.path, every.toString("base64"));
        assert.equal((await get(`${prefix}/x/files/%98`)).json.path, Buffer.from([0x98]).toString("base64"));
      });
    }

    test("with a broken encoding is malformed_request, after everything that is refused before the path", async () => {
      for (const encoded of ["%zz", "%", "a%2", "%4x", "a/%"]) {
        const { status, json } = await get(`/v1/test-files/1/files/${encoded}`);
        assert.deepEqual([status, json.code], [400, "malformed_request"], encoded);
        const anonymous = await get(`/v1/test-files/1/files/${encoded}`, { authorization: "" });
        assert.equal(anonymous.status, 401);
      }
    });

    test("stays bound to its prefix, its length and its methods", async () => {
      for (const missing of ["/v1/test-files/1/files", "/v1/test-files/1/Files/a", "/v1/test-files//files/a"]) {
        assert.equal((await get(missing)).status, 404, missing);
      }
      assert.equal((await get("/v1/%74est-files/1/files/-")).status, 404);
      const long = "a".repeat(maxUrlLength);
      assert.equal((await get(`/v1/test-files/1/files/${long}`)).json.code, "uri_too_long");
      const longest = "a".repeat(12_288);
      assert.equal((await get(`/v1/test-files/1/files/${longest}`)).status, 200);
      const removed = await service.send("DELETE", "/v1/test-files/1/files/a/b", { headers: { authorization }, http2 });
      assert.deepEqual([removed.status, removed.headers.allow], [405, "GET, HEAD, PUT"]);
      const put = await service.send("PUT", "/v1/test-files/1/files/a/%98", {
        headers: { authorization },
        http2,
        body: "xyz",
      });
      assert.deepEqual(
        [put.status, put.json?.path, put.json?.bytes],
        [201, Buffer.from("a/\x98", "latin1").toString("base64"), 3],
      );
    });
  });
}

test("a path is in no log line", async () => {
  const canary = "gizli-dosya-4711";
  await service.send("GET", `/v1/test-files/1/files/${canary}`, { headers: { authorization } });
  await service.send("GET", `/v1/test-files/1/files/${canary}?missing=true`, { headers: { authorization } });
  await service.send("GET", `/v1/test-files/1/files/${canary}%zz`, { headers: { authorization } });
  const lines = service.logLines.filter((line) => line.includes("tests.get_file"));
  assert.ok(lines.length >= 3);
  assert.deepEqual(
    service.logLines.filter((line) => line.includes(canary)),
    [],
  );
});

test("paths below one prefix are one target of the scan detector; prefixes are many", async () => {
  const status = async (target: string) => (await service.send("GET", target)).status;
  for (let at = 0; at < 2 * suspicious; at++) assert.equal(await status(`/v1/test-files/1/files/${at}`), 401);
  const statuses = new Set<number>();
  for (let at = 0; at < 50 * suspicious && !statuses.has(403); at++) {
    statuses.add(await status(`/v1/test-files/${at}/files/x`));
  }
  assert.ok(statuses.has(403), "a scan over prefixes is banned");
});
