import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession } from "../format/session-header.ts";
import { signerFromSeed } from "../format/signing.ts";
import { createVaultKeys } from "../format/vault-keys.ts";
import { seededBytes, testContext, vaultId } from "../testing/test-environment.ts";
import { FrameAreas } from "../workers/frame-areas.ts";
import { PackUploader } from "./pack-uploader.ts";

const signer = signerFromSeed(Buffer.alloc(32, 9));
const packBytes = 100_000;

/** A store as the line sees it: `take` reads one body's next piece, `finish` ends its put. */
interface Put {
  readonly name: string;
  readonly body: AsyncIterator<Uint8Array>;
  readonly answer: PromiseWithResolvers<void>;
}

function openLine(uploads = 1) {
  const ctx = testContext(1);
  const { header } = startSession(ctx, createVaultKeys(ctx, vaultId), signer, { session: 1, nonce: 1 });
  const puts: Put[] = [];
  const line = new PackUploader({
    header,
    signer,
    packBytes,
    uploads,
    random: (length) => ctx.random(length),
    put: (name, body) => {
      const answer = Promise.withResolvers<void>();
      puts.push({ name, body: body[Symbol.asyncIterator](), answer });
      return answer.promise;
    },
  });
  return { line, puts };
}

function bodyOf(put: Put | undefined): AsyncIterator<Uint8Array> {
  assert.ok(put);
  return put.body;
}

async function readAll(body: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let next = await body.next(); next.done !== true; next = await body.next()) pieces.push(Buffer.from(next.value));
  return Buffer.concat(pieces);
}

/** Whether a promise is still open after everything that is due has run. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  const turn = new Promise((resolve) => setImmediate(() => resolve(open)));
  return (await Promise.race([promise.catch(() => undefined), turn])) === open;
}

test("a frame's memory is free again as soon as the store has taken the frame, long before its pack is complete", async () => {
  const outbox = new FrameAreas(1, 1000);
  const { line, puts } = openLine();
  line.add("data", 1, 0, outbox.room(1000).fill(7), seededBytes(1)(32));
  assert.ok(outbox.room(1000).buffer instanceof ArrayBuffer, "the area is full");
  const body = puts[0]?.body;
  await body?.next();
  assert.deepEqual((await body?.next())?.value, new Uint8Array(1000).fill(7));
  assert.ok(outbox.room(1000).buffer instanceof ArrayBuffer, "it is being stored");
  const next = body?.next();
  assert.ok(outbox.room(1000).buffer instanceof SharedArrayBuffer, "the next piece was asked for");
  const given = line.abandon();
  await assert.rejects(async () => next, /given up/);
  puts[0]?.answer.reject(new Error("no body"));
  await given;
});

test("whoever produces more waits for a store that takes nothing, and for packs that do not become durable", async () => {
  const { line, puts } = openLine();
  const frame = () => seededBytes(2)(packBytes);
  line.add("data", 1, 0, frame());
  await line.room();
  line.add("data", 2, 0, frame());
  const room = line.room();
  assert.ok(await isWaiting(room));
  for (const { body } of puts) await readAll(body);
  assert.ok(await isWaiting(room), "taken, but not durable");
  puts[0]?.answer.resolve();
  await room;
  assert.deepEqual(
    line.takeDurable().map(({ pack }) => pack),
    [puts[0]?.name],
  );
  puts[1]?.answer.resolve();
  await line.drain();
  assert.equal(line.takeDurable()[0]?.size, line.sentBytes / 2);
});

test("after a failed put nothing waits for ever, the failure is told, areas are emptied, and no other pack is begun", async () => {
  const outbox = new FrameAreas(2, 1000);
  const { line, puts } = openLine();
  line.add("data", 1, 0, outbox.room(1000), seededBytes(3)(32));
  puts[0]?.answer.reject(new Error("disk full"));
  await assert.rejects(line.drain(), /disk full/);
  line.add("data", 2, 0, outbox.room(1000), seededBytes(4)(32));
  await assert.rejects(line.room(), /disk full/);
  assert.equal(puts.length, 1);
  for (let i = 0; i < 2; i++) assert.ok(outbox.room(1000).buffer instanceof SharedArrayBuffer);
});

test("a line that is given up fails the bodies that are on their way and begins no other: no half pack is stored", async () => {
  const { line, puts } = openLine();
  line.add("data", 1, 0, seededBytes(6)(1000));
  const given = line.abandon();
  await assert.rejects(readAll(bodyOf(puts[0])), /given up/);
  assert.ok(await isWaiting(given), "the store has not let go");
  puts[0]?.answer.reject(new Error("no body"));
  await given;
  line.add("data", 2, 0, seededBytes(7)(1000));
  assert.equal(puts.length, 1);
});

test("a store that answers before it has read the whole pack is not believed", async () => {
  const { line, puts } = openLine();
  line.add("data", 1, 0, seededBytes(8)(1000));
  puts[0]?.answer.resolve();
  await assert.rejects(line.drain(), /before it had the whole pack/);
  assert.deepEqual(line.takeDurable(), []);
});

test("whoever still reads a pack whose put is over is not told that it is complete", async () => {
  const { line, puts } = openLine();
  line.add("data", 1, 0, seededBytes(9)(1000));
  puts[0]?.answer.reject(new Error("timed out"));
  await assert.rejects(line.drain(), /timed out/);
  await assert.rejects(readAll(bodyOf(puts[0])), /is over/);
});
