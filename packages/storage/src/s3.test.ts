// long: 15 s

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { ObjectStore } from "@emanet/engine/object-store";
import { openStore } from "./open.ts";
import { RetryingStore } from "./retrying.ts";
import { openS3Store } from "./s3.ts";
import { parseS3Url } from "./s3-url.ts";
import { patternStream, rejectsWith, seededBytes, sha256 } from "./testing/bodies.ts";
import { makeBucket, type TestBucket } from "./testing/bucket.ts";
import { conformance } from "./testing/conformance.ts";
import { seededRandom } from "./testing/faulty.ts";
import { startFaultyGateway } from "./testing/faulty-gateway.ts";
import { replaceOnce, startLine } from "./testing/tcp-proxy.ts";
import { findVersitygw } from "./testing/versitygw.ts";

const program = await findVersitygw();
const skip = program === null ? "no versitygw on the PATH and no Go to build it" : undefined;
const packBytes = 20 * 1024 * 1024;

conformance("s3", () => makeBucket(program ?? ""), { skip });

describe("s3 store", { skip: skip ?? false }, () => {
  let bucket: TestBucket;
  before(async () => {
    bucket = await makeBucket(program ?? "");
  });
  after(() => bucket?.close());

  test("stores under different prefixes of a bucket do not see each other, and other objects are not listed", async () => {
    const left = await bucket.open({ prefix: "left" });
    const right = await bucket.open({ prefix: "right" });
    await left.put("a", seededBytes(1, 10));
    assert.equal(await right.stat("a"), null);
    await bucket.client().send(new PutObjectCommand({ Bucket: "bucket", Key: "left/Stranger", Body: "x" }));
    assert.deepEqual(await names(left), ["a"]);
    assert.deepEqual(await names(right), []);
  });

  test("opening again needs nothing to be deleted and adds nothing to the bucket", async () => {
    await bucket.open({ prefix: "again" });
    await bucket.open({ prefix: "again" });
    assert.deepEqual(await uploads(bucket.client(), "again/"), []);
    const page = await bucket.client().send(new ListObjectsV2Command({ Bucket: "bucket", Prefix: "again/" }));
    assert.deepEqual(
      page.Contents?.map(({ Key }) => Key),
      ["again/.emanet-probe"],
    );
  });

  test("opens and works where a third of the requests fail or their answers are lost", async (t) => {
    const gateway = await startFaultyGateway(bucket.port, seededRandom(23));
    t.after(() => gateway.close());
    gateway.oneOf = 3;
    const endpoint = encodeURIComponent(`http://127.0.0.1:${gateway.port}`);
    const { store, close } = await openStore(`s3://bucket/faulty?endpoint=${endpoint}`, {
      ...{ now: Date.now, random: () => 0, randomBytes, sleep: async () => undefined },
      s3Credentials: bucket.credentials,
    });
    t.after(close);
    const sizes = [0, 1, 70_000, 9_000_000, 30_000_000];
    for (const [at, size] of sizes.entries()) {
      const bytes = seededBytes(at, size);
      await store.put(`faulty/${at}`, at % 2 === 0 ? bytes : once(bytes), { ifAbsent: true });
    }
    for (const [at, size] of sizes.entries())
      assert.equal(sha256(await store.get(`faulty/${at}`)), sha256(seededBytes(at, size)), `object ${at}`);
    assert.deepEqual(
      await names(store),
      sizes.map((_, at) => `faulty/${at}`),
    );
    for (const [fault, count] of Object.entries(gateway.counts)) assert.ok(count > 0, fault);
  });

  test("an upload in parts that fails leaves no parts behind", async () => {
    const store = await bucket.open({ prefix: "parts" });
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* patternStream(1, packBytes)();
      throw new Error("the spool file is gone");
    }
    await rejectsWith("bad_body", store.put("a", failing));
    await store.put("a", patternStream(1, packBytes));
    await rejectsWith("exists", store.put("a", patternStream(1, packBytes), { ifAbsent: true }));
    assert.deepEqual(await uploads(bucket.client(), "parts/"), []);
  });

  test("opening and a later removal end uploads that are a day old, under their own prefix only", async () => {
    for (const prefix of ["old", "other"]) {
      const create = new CreateMultipartUploadCommand({ Bucket: "bucket", Key: `${prefix}/forgotten` });
      await bucket.client().send(create);
    }
    await bucket.open({ prefix: "old", now: () => Date.now() + 23 * 3_600_000 });
    assert.deepEqual(await uploads(bucket.client(), "old/"), ["old/forgotten"]);
    let hours = 0;
    const store = await bucket.open({ prefix: "old", now: () => Date.now() + hours * 3_600_000 });
    await store.removeLeftovers();
    assert.deepEqual(await uploads(bucket.client(), "old/"), ["old/forgotten"]);
    hours = 25;
    await store.removeLeftovers();
    assert.deepEqual(await uploads(bucket.client(), "old/"), []);
    await bucket.client().send(new CreateMultipartUploadCommand({ Bucket: "bucket", Key: "old/forgotten" }));
    await bucket.open({ prefix: "old", now: () => Date.now() + 25 * 3_600_000 });
    assert.deepEqual(await uploads(bucket.client(), "old/"), []);
    assert.deepEqual(await uploads(bucket.client(), "other/"), ["other/forgotten"]);
  });

  test("an `s3:` address opens a store that finds again what it kept", async () => {
    const address = `s3://bucket/opened?endpoint=${encodeURIComponent(`http://127.0.0.1:${bucket.port}`)}`;
    const unused = async () => assert.fail("nothing fails here, so nothing waits");
    const context = { now: Date.now, random: () => 0, randomBytes, sleep: unused, s3Credentials: bucket.credentials };
    const first = await openStore(address, context);
    await first.store.put("a/b", seededBytes(1, 10));
    await first.close();
    const second = await openStore(address, context);
    assert.deepEqual(await second.store.stat("a/b"), { size: 10 });
    await second.close();
  });

  test("wrong credentials and a missing bucket are `denied` when the store is opened", async () => {
    const endpoint = encodeURIComponent(`http://127.0.0.1:${bucket.port}`);
    const wrong = { accessKeyId: "test-access", secretAccessKey: "not-the-secret" };
    for (const [name, credentials] of [
      ["bucket", wrong],
      ["nobucket", bucket.credentials],
    ] as const) {
      const location = parseS3Url(`s3://${name}?endpoint=${endpoint}`);
      await rejectsWith("denied", openS3Store({ location, credentials, now: Date.now }));
    }
  });
});

describe("s3 store on a bad connection", { skip: skip ?? false }, () => {
  let bucket: TestBucket;
  before(async () => {
    bucket = await makeBucket(program ?? "");
  });
  after(() => bucket?.close());

  test("a byte changed on the way up or down is `corrupt`, and is not stored", async (t) => {
    const rules: Parameters<typeof startLine>[1] = {};
    const line = await startLine(bucket.port, rules);
    t.after(() => line.close());
    const store = await bucket.open({ port: line.port });
    const body = Buffer.from(`${"x".repeat(1000)}marker${"x".repeat(1000)}`);
    rules.request = replaceOnce("marker", "marken");
    await rejectsWith("corrupt", store.put("flipped", body));
    assert.equal(await store.stat("flipped"), null);
    await store.put("flipped", body);
    rules.response = replaceOnce("marker", "marken");
    await rejectsWith("corrupt", store.get("flipped"));
    assert.equal(sha256(await store.get("flipped")), sha256(body));
  });

  test("an answer cut in the middle is `unavailable`", async (t) => {
    const rules: Parameters<typeof startLine>[1] = {};
    const line = await startLine(bucket.port, rules);
    t.after(() => line.close());
    const store = await bucket.open({ port: line.port });
    await store.put("cut", seededBytes(1, 3_000_000));
    let passed = 0;
    rules.response = (bytes) => {
      passed += bytes.byteLength;
      return passed > 1_000_000 ? null : bytes;
    };
    await rejectsWith("unavailable", store.get("cut"));
    passed = 0;
    await rejectsWith("unavailable", store.get("cut", { range: { offset: 5, length: 2_000_000 } }));
  });

  test("a server that does not answer is `unavailable` after the idle limit", async (t) => {
    const rules: Parameters<typeof startLine>[1] = {};
    const line = await startLine(bucket.port, rules);
    t.after(() => line.close());
    const store = await bucket.open({ port: line.port, idleLimitMs: 1_500 });
    rules.response = () => Buffer.alloc(0);
    await rejectsWith("unavailable", store.stat("a"));
    await rejectsWith("unavailable", store.put("a", seededBytes(1, 10)));
  });

  test("an ifAbsent put whose answer was cut has won, as the retrying store finds out", async (t) => {
    const rules: Parameters<typeof startLine>[1] = {};
    const line = await startLine(bucket.port, rules);
    t.after(() => line.close());
    const store = await bucket.open({ port: line.port });
    const sleep = async () => {
      rules.response = undefined;
    };
    for (const [name, body] of [
      ["lost-small", seededBytes(1, 1000)],
      ["lost-large", patternStream(1, packBytes)],
    ] as const) {
      let cuts = 0;
      rules.request = (bytes) => {
        if (bytes.includes("if-none-match") && cuts === 0) {
          cuts += 1;
          rules.response = () => null;
        }
        return bytes;
      };
      await new RetryingStore(store, { random: () => 0, sleep }).put(name, body, { ifAbsent: true });
      assert.equal(cuts, 1);
      await rejectsWith("exists", store.put(name, body, { ifAbsent: true }));
    }
  });

  test("a server killed in the middle of an upload is `unavailable`; when it is back, a retry completes the put", async () => {
    const store = await bucket.open();
    let kills = 1;
    const body = async function* () {
      const chunks = patternStream(3, packBytes)();
      let sent = 0;
      for await (const chunk of chunks) {
        if (sent > 9 * 1024 * 1024 && kills > 0) {
          kills -= 1;
          await bucket.kill();
        }
        sent += chunk.byteLength;
        yield chunk;
      }
    };
    await rejectsWith("unavailable", store.put("killed", body));
    await rejectsWith("unavailable", store.stat("killed"));
    await bucket.restart();
    assert.equal(await store.stat("killed"), null);
    kills = 1;
    const waits: number[] = [];
    const sleep = async (ms: number) => {
      if (waits.push(ms) === 2) await bucket.restart();
    };
    await new RetryingStore(store, { random: () => 0.5, sleep }).put("killed", body, { ifAbsent: true });
    assert.equal(waits.length, 2);
    assert.deepEqual(await store.stat("killed"), { size: packBytes });
  });
});

async function uploads(client: S3Client, prefix: string): Promise<(string | undefined)[]> {
  const page = await client.send(new ListMultipartUploadsCommand({ Bucket: "bucket", Prefix: prefix }));
  return (page.Uploads ?? []).map(({ Key }) => Key);
}

/** Can be read once. */
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function names(store: ObjectStore): Promise<string[]> {
  const seen: string[] = [];
  for await (const { name } of store.list("")) seen.push(name);
  return seen;
}
