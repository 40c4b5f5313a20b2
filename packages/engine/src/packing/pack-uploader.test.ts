import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession } from "../format/session-header.ts";
import { signerFromSeed } from "../format/signing.ts";
import { createVaultKeys } from "../format/vault-keys.ts";
import { authorityWriter } from "../format/writer-registration.ts";
import { seededBytes, testContext, vaultId } from "../testing/test-environment.ts";
import { PackUploader, type PackUploaderOptions } from "./pack-uploader.ts";
import { SharedFrameBuffers } from "./shared-frame-buffers.ts";

const signer = signerFromSeed(Buffer.alloc(32, 9));
const packBytes = 100_000;

/** One call of the store's put: the test reads its body and answers it. */
interface Put {
  readonly name: string;
  readonly body: AsyncIterator<Uint8Array>;
  readonly answer: PromiseWithResolvers<void>;
}

function openUploader(packsInFlight = 1, more: Partial<PackUploaderOptions> = {}) {
  const ctx = testContext(1);
  const writer = authorityWriter(signer, vaultId);
  const { header } = startSession(ctx, createVaultKeys(ctx, vaultId), writer, { session: 1, nonce: 1 });
  const puts: Put[] = [];
  const uploader = new PackUploader({
    kind: "data",
    header,
    signer,
    packBytes,
    packsInFlight,
    random: (length) => ctx.random(length),
    put: (name, body) => {
      const answer = Promise.withResolvers<void>();
      puts.push({ name, body: body[Symbol.asyncIterator](), answer });
      return answer.promise;
    },
    ...more,
  });
  return { uploader, puts };
}

function bodyOf(put: Put | undefined): AsyncIterator<Uint8Array> {
  assert.ok(put);
  return put.body;
}

async function readAll(body: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let next = await body.next(); next.done !== true; next = await body.next()) chunks.push(Buffer.from(next.value));
  return Buffer.concat(chunks);
}

/** Whether a promise is still pending after all queued callbacks have run. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  const turn = new Promise((resolve) => setImmediate(() => resolve(open)));
  return (await Promise.race([promise.catch(() => undefined), turn])) === open;
}

test("a frame's memory is released once the store has read the frame, before its pack is complete", async () => {
  const buffers = new SharedFrameBuffers(1, 1000);
  const { uploader, puts } = openUploader();
  uploader.add("data", 1, 0, buffers.allocate(1000).fill(7), seededBytes(1)(32));
  assert.ok(buffers.allocate(1000).buffer instanceof ArrayBuffer, "the buffer is in use");
  const body = puts[0]?.body;
  await body?.next();
  assert.deepEqual((await body?.next())?.value, new Uint8Array(1000).fill(7));
  assert.ok(buffers.allocate(1000).buffer instanceof ArrayBuffer, "the store is reading it");
  const next = body?.next();
  assert.ok(buffers.allocate(1000).buffer instanceof SharedArrayBuffer, "the store has read the next chunk");
  const abandoned = uploader.abandon();
  await assert.rejects(async () => next, /abandoned/);
  puts[0]?.answer.reject(new Error("no body"));
  await abandoned;
});

test("the producer waits while the store reads nothing and while packs are not durable", async () => {
  const { uploader, puts } = openUploader();
  const frame = () => seededBytes(2)(packBytes);
  uploader.add("data", 1, 0, frame());
  await uploader.waitForSpace();
  uploader.add("data", 2, 0, frame());
  const waiting = uploader.waitForSpace();
  assert.ok(await isWaiting(waiting));
  for (const { body } of puts) await readAll(body);
  assert.ok(await isWaiting(waiting), "read, but not durable");
  puts[0]?.answer.resolve();
  await waiting;
  assert.deepEqual(
    uploader.takeDurable().map(({ pack }) => pack),
    [puts[0]?.name],
  );
  puts[1]?.answer.resolve();
  await uploader.drain();
  assert.equal(uploader.takeDurable()[0]?.size, uploader.storedBytes / 2);
});

test("after a failed put nothing waits for ever, the failure is thrown, buffers are released, and no other pack is begun", async () => {
  const buffers = new SharedFrameBuffers(2, 1000);
  const { uploader, puts } = openUploader();
  uploader.add("data", 1, 0, buffers.allocate(1000), seededBytes(3)(32));
  puts[0]?.answer.reject(new Error("disk full"));
  await assert.rejects(uploader.drain(), /disk full/);
  uploader.add("data", 2, 0, buffers.allocate(1000), seededBytes(4)(32));
  await assert.rejects(uploader.waitForSpace(), /disk full/);
  assert.equal(puts.length, 1);
  for (let i = 0; i < 2; i++) assert.ok(buffers.allocate(1000).buffer instanceof SharedArrayBuffer);
});

test("an abandoned uploader fails the bodies in flight and begins no other pack: no half pack is stored", async () => {
  const { uploader, puts } = openUploader();
  uploader.add("data", 1, 0, seededBytes(6)(1000));
  const abandoned = uploader.abandon();
  await assert.rejects(readAll(bodyOf(puts[0])), /abandoned/);
  assert.ok(await isWaiting(abandoned), "the store has not ended the put");
  puts[0]?.answer.reject(new Error("no body"));
  await abandoned;
  uploader.add("data", 2, 0, seededBytes(7)(1000));
  assert.equal(puts.length, 1);
});

test("a store that answers before it has read the whole pack fails the upload", async () => {
  const { uploader, puts } = openUploader();
  uploader.add("data", 1, 0, seededBytes(8)(1000));
  puts[0]?.answer.resolve();
  await assert.rejects(uploader.drain(), /before it had the whole pack/);
  assert.deepEqual(uploader.takeDurable(), []);
});

test("a reader of a pack whose put is over gets an error and not the end of the pack", async () => {
  const { uploader, puts } = openUploader();
  uploader.add("data", 1, 0, seededBytes(9)(1000));
  puts[0]?.answer.reject(new Error("timed out"));
  await assert.rejects(uploader.drain(), /timed out/);
  await assert.rejects(readAll(bodyOf(puts[0])), /is over/);
});

test("a body ends when its pack may end; the producer goes on meanwhile", async () => {
  const permits: PromiseWithResolvers<void>[] = [];
  const asked: string[] = [];
  const mayEnd = (name: string) => {
    asked.push(name);
    const permit = Promise.withResolvers<void>();
    permits.push(permit);
    return permit.promise;
  };
  let durable = 0;
  const { uploader, puts } = openUploader(2, { mayEnd, onDurable: () => durable++ });
  for (const frame of [1, 2]) uploader.add("data", frame, 0, seededBytes(frame)(packBytes));
  await uploader.waitForSpace();
  const bodies = puts.map((put) => readAll(bodyOf(put)));
  assert.deepEqual(
    asked,
    puts.map(({ name }) => name),
  );
  assert.ok(await isWaiting(Promise.race(bodies)));
  permits[1]?.resolve();
  assert.ok(((await bodies[1])?.length ?? 0) > packBytes);
  assert.ok(await isWaiting(Promise.race([bodies[0]])));
  permits[0]?.resolve();
  await bodies[0];
  for (const { answer } of puts) answer.resolve();
  await uploader.drain();
  assert.equal(durable, 2);
});

test("a failure ends the packs that wait for their end: nothing waits for ever", async () => {
  for (const failing of ["another pack", "the caller", "the permit"]) {
    const permit = Promise.withResolvers<void>();
    const mayEnd = (_name: string, size: number) =>
      size > packBytes * 1.5 || size < packBytes ? permit.promise : Promise.resolve();
    const { uploader, puts } = openUploader(4, { mayEnd });
    uploader.add("data", 1, 0, seededBytes(1)(packBytes));
    uploader.add("data", 2, 0, seededBytes(2)(packBytes * 2));
    uploader.add("data", 3, 0, seededBytes(3)(1000));
    const bodies = puts.map((put) => readAll(bodyOf(put)));
    for (const body of bodies) body.catch(() => undefined);
    if (failing === "another pack") puts[0]?.answer.reject(new Error("disk full"));
    else if (failing === "the caller") uploader.fail(new Error("disk full"));
    else permit.reject(new Error("disk full"));
    await assert.rejects(bodies[1] ?? Promise.resolve(), /has failed/);
    puts[1]?.answer.reject(new Error("no body"));
    puts[0]?.answer.resolve();
    // The third pack was not full before.
    const drained = uploader.drain();
    await assert.rejects(bodies[2] ?? Promise.resolve(), /has failed/);
    puts[2]?.answer.reject(new Error("no body"));
    await assert.rejects(drained, /disk full/);
    await assert.rejects(uploader.waitForSpace(), /disk full/);
  }
});
