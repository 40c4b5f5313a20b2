// own process: tus-js-client adds listeners for signals.

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { once } from "node:events";
import http2 from "node:http2";
import https from "node:https";
import { after, test } from "node:test";
import { stripeBytes } from "@emanet/engine";
import { DefaultHttpStack, Upload } from "tus-js-client";
import { codeOf } from "../../agents/testing.ts";
import { snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { fileTest } from "../testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);
const { spool } = env.service.running.services?.snapshots ?? assert.fail("no services");

const tus = { "tus-resumable": "1.0.0" };
const octets = { "content-type": "application/offset+octet-stream" };

/** Does not compress. */
function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** Sends a file in parts of these sizes, and the rest in one. */
async function inParts(id: string, path: string, content: Buffer, sizes: readonly number[]): Promise<void> {
  await files.begin(id, path, content.length);
  let at = 0;
  for (const size of [...sizes, content.length]) {
    const part = content.subarray(at, at + size);
    if (part.length === 0) break;
    const answer = await files.patch(id, path, at, part);
    at += part.length;
    assert.deepEqual([answer.status, answer.headers["upload-offset"]], [204, String(at)], answer.body.toString());
  }
}

test("a file that came in parts has the same tree as one that came whole, whatever the parts", async () => {
  const small = Buffer.from("fatura ".repeat(1000));
  const medium = noise(900_000, 1);
  const whole = await env.upload("source=whole", tarOf({ "d/medium": medium, "d/small": small }));
  const id = await files.create("parts");
  const mtime = { "x-emanet-mtime": new Date(1_700_000_000_000).toISOString() };
  await files.begin(id, "d/small", small.length, mtime);
  for (let at = 0; at < small.length; at += 2500) await files.patch(id, "d/small", at, small.subarray(at, at + 2500));
  await files.begin(id, "d/medium", medium.length, mtime);
  for (const [at, to] of [
    [0, 1],
    [1, 300_000],
    [300_000, 899_999],
    [899_999, 900_000],
  ] as const)
    await files.patch(id, "d/medium", at, medium.subarray(at, to));
  const done = await files.complete(id);
  assert.equal(done.json?.root_hash, whole.json?.root_hash);
});

test("over HTTP/2: parts are appended, and one that is reset keeps what came", async () => {
  const content = noise(200_000, 8);
  const id = await files.create("h2");
  const url = `/v1/snapshots/${id}/files/a`;
  const send = (method: string, headers: Record<string, string>, body?: Buffer) =>
    env.service.send(method, url, { http2: true, headers: { ...env.auth, ...tus, ...headers }, ...(body && { body }) });
  assert.equal((await send("POST", { "upload-length": String(content.length) })).status, 201);
  const first = await send("PATCH", { ...octets, "upload-offset": "0" }, content.subarray(0, 70_000));
  assert.deepEqual([first.status, first.headers["upload-offset"]], [204, "70000"]);
  const session = http2.connect(env.service.url, { ca: env.service.ca });
  const headers = { ...env.auth, ...tus, ...octets, "upload-offset": "70000" };
  const stream = session.request({ ":method": "PATCH", ":path": url, ...headers });
  const ended = once(stream, "close");
  stream.on("error", () => undefined).write(content.subarray(70_000, 130_000));
  // With what had come before, which is cut again.
  await env.until(async () => (spool.usedBytes >= 130_000 ? true : null));
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await ended;
  session.close();
  const at = await env.until(async () => {
    const offset = Number((await send("HEAD", {})).headers["upload-offset"]);
    return offset > 70_000 ? offset : null;
  });
  assert.equal(at, 130_000);
  const last = await send("PATCH", { ...octets, "upload-offset": String(at) }, content.subarray(at));
  assert.deepEqual([last.status, last.headers["upload-offset"]], [204, String(content.length)]);
  assert.equal((await files.complete(id)).status, 200);
  assert.ok((await env.get(url)).body.equals(content));
});

test("parts across the end of a stripe, and one that ends with it", async () => {
  const content = Buffer.concat([noise(100_000, 2), Buffer.alloc(stripeBytes), noise(50_000, 3)]);
  const id = await files.create("stripes");
  await inParts(id, "a", content, [stripeBytes - 70_000, 1_000]);
  const exact = content.subarray(0, stripeBytes);
  await inParts(id, "b", exact, [10]);
  const put = await files.put(id, "c", content);
  assert.equal((await files.complete(id)).status, 200);
  const etagOf = async (path: string) => (await files.head(id, path)).headers.etag;
  assert.equal(await etagOf("a"), put.headers.etag);
  const { body } = await env.get(`/v1/snapshots/${id}/files/a`, { range: `bytes=${stripeBytes - 10}-` });
  assert.ok(body.equals(content.subarray(stripeBytes - 10)));
  assert.equal((await files.head(id, "b")).headers["content-length"], String(stripeBytes));
});

test("409 for a wrong offset; 413 beyond the length; 415 for another type and for none", async () => {
  const id = await files.create("offsets");
  await files.begin(id, "a", 10);
  await files.patch(id, "a", 0, "12345");
  for (const offset of [0, 4, 6]) {
    const answer = await files.patch(id, "a", offset, "x");
    assert.deepEqual([codeOf(answer), answer.json?.reason], ["409 state_conflict", "wrong_offset"]);
  }
  assert.equal(codeOf(await files.patch(id, "a", 5, "123456")), "413 payload_too_large");
  const chunked = await files.patch(id, "a", 5, "123456", { "transfer-encoding": "chunked" });
  assert.equal(codeOf(chunked), "413 payload_too_large");
  const wrongType = await files.patch(id, "a", 5, "12345", { "content-type": "text/plain" });
  assert.equal(codeOf(wrongType), "415 unsupported_media_type");
  const withoutType = await env.service.send("PATCH", `/v1/snapshots/${id}/files/a`, {
    body: Buffer.from("12345"),
    headers: { ...env.auth, ...tus, "upload-offset": "5" },
  });
  assert.equal(codeOf(withoutType), "415 unsupported_media_type");
  assert.equal(codeOf(await files.patch(id, "b", 0, "x")), "404 not_found");
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "5");
  assert.equal((await files.patch(id, "a", 5, "67890")).status, 204);
  const whole = await files.head(id, "a");
  assert.deepEqual([whole.headers["upload-offset"], whole.headers["upload-length"]], ["10", "10"]);
});

test("412 for another version of tus, with the version that is spoken", async () => {
  const id = await files.create("versions");
  await files.begin(id, "a", 10);
  const other = { "tus-resumable": "0.2.0" };
  for (const answer of [await files.begin(id, "a", 10, other), await files.patch(id, "a", 0, "12345", other)]) {
    assert.deepEqual([codeOf(answer), answer.headers["tus-version"]], ["412 precondition_failed", "1.0.0"]);
  }
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "0");
});

const digestOf = (content: Uint8Array | string, algorithm = "sha256") => ({
  "content-digest": `${algorithm.replace("sha", "sha-")}=:${createHash(algorithm).update(content).digest("base64")}:`,
});

test("a part whose digest differs is 422 and the file stays as it was; one whose digest fits is appended", async () => {
  const id = await files.create("digests");
  assert.equal(codeOf(await files.begin(id, "a", 15, digestOf("whole"))), "422 content_mismatch");
  assert.equal((await files.head(id, "a")).status, 404);
  assert.equal((await files.begin(id, "a", 15, digestOf(""))).status, 201);
  const send = (at: number, part: string, headers: Record<string, string>) => files.patch(id, "a", at, part, headers);
  const offset = async () => (await files.head(id, "a")).headers["upload-offset"];
  for (const algorithm of ["sha256", "sha512"]) {
    assert.equal(codeOf(await send(0, "12345", digestOf("54321", algorithm))), "422 content_mismatch");
    assert.equal(await offset(), "0");
  }
  assert.equal(codeOf(await send(0, "12345", { "content-digest": "sha-256=:AAAA:" })), "400 invalid_header");
  assert.equal((await send(0, "12345", { "content-digest": "md5=:AAAA:" })).status, 204);
  assert.equal(codeOf(await send(5, "67890", digestOf("1234567890"))), "422 content_mismatch", "of the part alone");
  assert.equal(await offset(), "5");
  assert.equal((await send(5, "67890", digestOf("67890"))).status, 204);
  assert.equal(codeOf(await send(10, "abcde", digestOf("abcdf"))), "422 content_mismatch", "the last part too");
  assert.equal(await offset(), "10");
  assert.equal((await send(10, "abcde", digestOf("abcde", "sha512"))).status, 204);
  assert.equal((await files.complete(id)).status, 200);
  assert.equal(await files.read(id, "a"), "1234567890abcde");
});

test("a part of several stripes with a digest is kept as a whole or not at all", async () => {
  const content = Buffer.concat([noise(100_000, 6), Buffer.alloc(stripeBytes), noise(50_000, 7)]);
  const id = await files.create("digest of stripes");
  await files.begin(id, "a", content.length);
  assert.equal(
    (await files.patch(id, "a", 0, content.subarray(0, 1000), digestOf(content.subarray(0, 1000)))).status,
    204,
  );
  const part = content.subarray(1000);
  assert.equal(codeOf(await files.patch(id, "a", 1000, part, digestOf("other"))), "422 content_mismatch");
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "1000");
  assert.equal((await files.patch(id, "a", 1000, part, digestOf(part))).status, 204);
  const put = await files.put(id, "b", content);
  assert.equal((await files.complete(id)).status, 200);
  assert.equal((await files.head(id, "a")).headers.etag, put.headers.etag);
});

test("of two requests for one offset one is taken, and the file is whole", async () => {
  const id = await files.create("race");
  await files.begin(id, "a", 8);
  const answers = await Promise.all(["1111", "2222", "3333"].map((part) => files.patch(id, "a", 0, part)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409, 409]);
  const ends = await Promise.all(["4444", "5555"].map((part) => files.patch(id, "a", 4, part)));
  assert.equal(ends.filter(({ status }) => status === 204).length, 1);
  await files.complete(id);
  assert.match(await files.read(id, "a"), /^(1111|2222|3333)(4444|5555)$/);
});

/** Sends 400 000 bytes of a part, and leaves when they have come. */
async function leaveInPart(id: string, content: Buffer, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const { url, ca } = env.service;
  const headers = { ...env.auth, ...octets, "upload-offset": "0", "content-length": String(content.length), ...more };
  const target = `${url}/v1/snapshots/${id}/files/a`;
  const outgoing = https.request(target, { method: "PATCH", headers, ca, agent: false });
  outgoing.on("error", () => undefined);
  outgoing.write(content.subarray(0, 400_000));
  await env.until(async () => (spool.usedBytes === 400_000 ? true : null));
  outgoing.destroy();
}

test("a request with a digest that breaks off keeps nothing", async () => {
  const content = noise(600_000, 9);
  const id = await files.create("broken digest");
  await files.begin(id, "a", content.length);
  await leaveInPart(id, content, digestOf(content));
  await env.until(async () => (spool.usedBytes === 0 ? true : null));
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "0");
  assert.equal((await files.patch(id, "a", 0, content, digestOf(content))).status, 204);
  assert.equal((await files.complete(id)).json?.file_count, 1);
});

test("a request that breaks off keeps what came of it, and the file goes on from there", async () => {
  const content = noise(600_000, 4);
  const id = await files.create("broken");
  await files.begin(id, "a", content.length);
  await leaveInPart(id, content);
  const offset = await env.until(async () => {
    const found = Number((await files.head(id, "a")).headers["upload-offset"]);
    return found > 0 ? found : null;
  });
  assert.equal(offset, 400_000);
  assert.equal((await files.patch(id, "a", offset, content.subarray(offset))).status, 204);
  await files.complete(id);
  assert.ok((await env.get(`/v1/snapshots/${id}/files/a`)).body.equals(content));
});

test("tus-js-client uploads a file, in parts and after a break", async () => {
  const content = noise(1_000_000, 5);
  const id = await files.create("tus");
  const endpoint = `${env.service.url}/v1/snapshots/${id}/files/d/tus.bak`;
  let requests = 0;
  await new Promise<void>((resolve, reject) => {
    const upload = new Upload(content, {
      ...{ endpoint, uploadSize: content.length, chunkSize: 300_000, retryDelays: [0, 0, 0] },
      headers: env.auth,
      httpStack: new DefaultHttpStack({ ca: env.service.ca }),
      // The answer to the second part is lost.
      onAfterResponse: (request) => {
        if (request.getMethod() === "PATCH" && ++requests === 2) throw new Error("lost");
      },
      onError: reject,
      onSuccess: () => resolve(),
    });
    upload.start();
  });
  assert.ok(requests >= 4);
  assert.equal((await files.complete(id)).json?.file_count, 1);
  assert.ok((await env.get(`/v1/snapshots/${id}/files/d/tus.bak`)).body.equals(content));
});
