/** What the S3 store says of servers that cannot keep the port's promises. They are made up here, answer by answer. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { MemoryStore } from "./memory.ts";
import { openStore } from "./open.ts";
import { openS3Store, type S3Store } from "./s3.ts";
import { parseS3Url } from "./s3-url.ts";
import { SpoolingStore } from "./spooling.ts";
import { patternStream, rejectsWith } from "./testing/bodies.ts";

type Answer = { status: number; body?: string; unsized?: true };
type Script = (request: http.IncomingMessage) => Answer | undefined;

const xml = '<?xml version="1.0" encoding="UTF-8"?>';
const refusal: Answer = { status: 412, body: `${xml}<Error><Code>PreconditionFailed</Code></Error>` };

/** The address of a server that does what opening needs; `script` may answer first. */
async function serve(t: TestContext, script: Script): Promise<string> {
  const server = http.createServer((request, response) => {
    request.resume().on("end", () => {
      const { status, body = "", unsized } = script(request) ?? wellBehaved(request);
      const length = { "content-length": `${Buffer.byteLength(body)}` };
      response.writeHead(status, { etag: '"1"', ...(status === 204 || unsized ? {} : length) }).end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return `s3://bucket?endpoint=${encodeURIComponent(endpoint)}`;
}

const credentials = { accessKeyId: "test-access", secretAccessKey: "test-secret" };

async function openOn(t: TestContext, script: Script): Promise<S3Store> {
  return openS3Store({ location: parseS3Url(await serve(t, script)), credentials, now: Date.now });
}

function wellBehaved(request: http.IncomingMessage): Answer {
  if (request.headers["if-none-match"] === "*") return refusal;
  if (request.method === "POST") {
    const root = "InitiateMultipartUploadResult";
    return { status: 200, body: `${xml}<${root}><UploadId>u1</UploadId></${root}>` };
  }
  if (request.url?.includes("uploads")) return { status: 200, body: `${xml}<ListMultipartUploadsResult/>` };
  return { status: request.method === "DELETE" ? 204 : 200 };
}

test("a server that does all that is needed is opened", async (t) => {
  await openOn(t, () => undefined);
});

test("opening removes the file that a process left which was killed before it could remove the name", async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-odd-servers-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const inner = new SpoolingStore(new MemoryStore(), { folder, randomBytes: (count) => Buffer.alloc(count, 7) });
  const left = path.join(folder, `emanet-spool-${"07".repeat(16)}`);
  writeFileSync(left, "");
  writeFileSync(path.join(folder, "notes.txt"), "of someone else");
  await assert.rejects(inner.put("a", patternStream(1, 10)()), /spool a/, "a spool file has this name");
  const address = await serve(t, () => undefined);
  const context = { now: Date.now, random: () => 0.5, randomBytes, sleep: async () => undefined, spoolFolder: folder };
  const opened = await openStore(address, { ...context, s3Credentials: credentials });
  await opened.close();
  assert.deepEqual(readdirSync(folder), ["notes.txt"]);
});

test("a server that ignores If-None-Match on a put is refused", async (t) => {
  const ignoring: Script = (request) => (request.method === "PUT" ? { status: 200 } : undefined);
  await rejectsWith("unsupported", openOn(t, ignoring));
});

test("a server that ignores If-None-Match when an upload is completed is refused, and the upload abandoned", async (t) => {
  const seen: string[] = [];
  const done = `${xml}<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>`;
  const ignoring: Script = (request) => {
    seen.push(`${request.method} ${request.url}`);
    return request.method === "POST" && request.url?.includes("uploadId") ? { status: 200, body: done } : undefined;
  };
  await rejectsWith("unsupported", openOn(t, ignoring));
  assert.ok(seen.some((line) => line.startsWith("DELETE") && line.includes("uploadId=u1")));
});

test("missing rights to list uploads, or no such call, do not keep a store from opening", async (t) => {
  for (const status of [403, 501]) {
    await openOn(t, (request) =>
      request.method === "GET" && request.url?.includes("uploads") ? { status } : undefined,
    );
  }
});

test("a list that is not in order is an error: a resumed one would skip objects", async (t) => {
  const entries = ["b", "a"].map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join("");
  const body = `${xml}<ListBucketResult>${entries}<IsTruncated>false</IsTruncated></ListBucketResult>`;
  const store = await openOn(t, (request) =>
    request.url?.includes("list-type=2") ? { status: 200, body } : undefined,
  );
  await rejectsWith("unsupported", firstNames(store));
});

test("a page that says there is more but not where is an error: the rest would look deleted", async (t) => {
  const body = `${xml}<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`;
  const store = await openOn(t, (request) =>
    request.url?.includes("list-type=2") ? { status: 200, body } : undefined,
  );
  await rejectsWith("unsupported", firstNames(store));
});

test("a server that ignores ranges is an error, not a slow success", async (t) => {
  const whole: Script = (request) =>
    request.method === "GET" && request.headers.range ? { status: 200, body: "0123456789" } : undefined;
  const store = await openOn(t, whole);
  await rejectsWith("unsupported", store.get("a", { range: { offset: 0, length: 3 } }));
});

test("an answer that does not say how long the object is, is not taken for an empty object", async (t) => {
  const store = await openOn(t, (request) => {
    const reading = request.method === "HEAD" || (request.method === "GET" && !request.url?.includes("uploads"));
    return reading ? { status: 200, unsized: true } : undefined;
  });
  await rejectsWith("unavailable", store.stat("a"));
  await rejectsWith("unavailable", store.get("a"));
});

test("a conflict of conditional writes is `exists` when the other has won, else `unavailable`", async (t) => {
  const conflict = `${xml}<Error><Code>ConditionalRequestConflict</Code></Error>`;
  for (const [found, code] of [
    [200, "exists"],
    [404, "unavailable"],
  ] as const) {
    const store = await openOn(t, (request) => {
      if (request.url?.includes(".emanet-probe")) return undefined;
      if (request.method === "PUT") return { status: 409, body: conflict };
      return request.method === "HEAD" ? { status: found } : undefined;
    });
    await rejectsWith(code, store.put("a", Uint8Array.of(1), { ifAbsent: true }));
  }
});

for (const [status, code, expected] of [
  [507, "InsufficientStorage", "full"],
  [400, "QuotaExceeded", "full"],
  [403, "AccessDenied", "denied"],
  [400, "BadDigest", "corrupt"],
  [503, "SlowDown", "unavailable"],
  [500, "InternalError", "unavailable"],
  [400, "EntityTooLarge", "too_large"],
  [400, "SomethingElse", "denied"],
] as const) {
  test(`an answer ${status} ${code} to a put is \`${expected}\``, async (t) => {
    const body = `${xml}<Error><Code>${code}</Code><Message>m</Message></Error>`;
    const store = await openOn(t, (request) =>
      request.url?.includes(".emanet-probe") || request.method !== "PUT" ? undefined : { status, body },
    );
    await rejectsWith(expected, store.put("a", Uint8Array.of(1)));
  });
}

test("a call is one request: a repeated conditional put would be told that its own object is in the way", async (t) => {
  let requests = 0;
  const store = await openOn(t, (request) => {
    if (request.method !== "PUT" || request.url?.includes(".emanet-probe")) return undefined;
    requests += 1;
    return { status: 503 };
  });
  await rejectsWith("unavailable", store.put("a", Uint8Array.of(1), { ifAbsent: true }));
  assert.equal(requests, 1);
});

test("a pack of 20 MiB and known size is one request; of unknown size it goes in parts", async (t) => {
  const seen: string[] = [];
  const store = await openOn(t, (request) => {
    if (!request.url?.includes(".emanet-probe")) seen.push(`${request.method} ${request.headers["content-length"]}`);
    return undefined;
  });
  const bytes = 20 * 1024 * 1024;
  seen.length = 0;
  await store.put("a", patternStream(1, bytes), { size: bytes });
  assert.deepEqual(seen.splice(0), [`PUT ${bytes}`]);
  await store.put("a", patternStream(1, bytes)).catch(() => undefined);
  // Parts travel side by side and arrive in any order.
  assert.deepEqual(seen.filter((line) => line.startsWith("PUT")).sort(), ["PUT 4194304", "PUT 8388608", "PUT 8388608"]);
});

async function firstNames(store: S3Store): Promise<void> {
  for await (const _ of store.list(""));
}
