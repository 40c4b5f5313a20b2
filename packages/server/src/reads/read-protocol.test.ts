/** The read protocol: a client reads its snapshot with what the service gives it, and nothing else. */

import assert from "node:assert/strict";
import { createCipheriv, randomUUID } from "node:crypto";
import { after, test } from "node:test";
import {
  decodeFound,
  decodeKeys,
  encodeFind,
  encodeKeyQuery,
  entriesOf,
  FileReader,
  type FrameKey,
  findEntry,
  RemoteReadPort,
  RestoreWorkerPool,
  repack,
  rootEntry,
  type SealedFrame,
} from "@emanet/engine";
import { openFrame } from "@emanet/engine/testing";
import { type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { readCalls } from "./testing.ts";

const env = await snapshotTest({ after });
const pool = new RestoreWorkerPool(1);
after(() => pool.close());

function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

const shared = noise(300_000, 1);
const own = noise(2_000_000, 2);
const secret = noise(2_000_000, 3);
const mine = (await env.upload("source=mine", tarOf({ "d/own.bin": own, "d/shared.bin": shared, "a.txt": "merhaba" })))
  .json as SnapshotJson;
const others = (await env.upload("source=others", tarOf({ "s/secret.bin": secret, "s/shared.bin": shared })))
  .json as SnapshotJson;

const open = async (id: string, headers = env.auth) => RemoteReadPort.open(readCalls(env.service, id, headers));

/** Every file of a snapshot, read by the client. */
async function filesOf(port: RemoteReadPort): Promise<Record<string, Buffer>> {
  const reader = new FileReader({ port, pool, hashesAll: true });
  const files: Record<string, Buffer> = {};
  const visit = async (directory: Awaited<ReturnType<typeof rootEntry>>, path: string): Promise<void> => {
    for await (const entry of entriesOf(reader.frames, directory.root)) {
      const name = `${path}${Buffer.from(entry.name)}`;
      if (entry.type === "directory") await visit(entry, `${name}/`);
      if (entry.type === "file") files[name] = Buffer.concat(await Array.fromAsync(reader.read(entry)));
    }
  };
  await visit(await rootEntry(reader.frames, { rootOrdinal: port.root.ordinal, rootId: port.root.id }), "");
  return files;
}

test("a client reads every file of its snapshot by sealed frames, and compares it", async () => {
  const files = await filesOf(await open(mine.id));
  assert.deepEqual(Object.keys(files).sort(), ["a.txt", "d/own.bin", "d/shared.bin"]);
  assert.ok(files["d/own.bin"]?.equals(own) && files["d/shared.bin"]?.equals(shared));
});

async function vaultOf() {
  const vault = await env.service.running.services?.vaults.open(env.accountId, String(mine.vault_id));
  return vault ?? assert.fail("no vault");
}

test("it goes on reading after a repack", async () => {
  const port = await open(mine.id);
  await repack(await vaultOf());
  assert.ok((await filesOf(port))["d/own.bin"]?.equals(own));
});

/** The sealed frames whose keys a reader of a snapshot asked for, and an item that needs each. */
async function framesOf(id: string): Promise<readonly SealedFrame[]> {
  const asked: SealedFrame[] = [];
  const port = await open(id);
  const frameKeys = port.frameKeys.bind(port);
  port.frameKeys = (frames) => {
    asked.push(...frames);
    return frameKeys(frames);
  };
  await filesOf(port);
  return asked;
}

test("a caller of one snapshot gets no place, no item and no key of another, whatever item it names", async () => {
  const port = await open(mine.id);
  const [ours, theirs] = [await framesOf(mine.id), await framesOf(others.id)];
  const foreign = theirs.filter(({ frame }) => !ours.some((one) => one.frame === frame));
  assert.ok(ours.length > 0 && foreign.length > 0);
  // Its own items are known to it now, those of the other snapshot are not.
  await filesOf(port);
  for (const key of await port.frameKeys(foreign)) assert.equal(typeof key, "string");
  assert.deepEqual(
    await port.frames(foreign.map(({ frame }) => frame)),
    foreign.map(() => null),
  );
  // A client that lies: it names items of its own snapshot, or of the other one, for frames of the other one.
  const calls = readCalls(env.service, mine.id, env.auth);
  const reach = Array.from({ length: 200 }, (_, ordinal) => ordinal);
  const known = await port.itemsByOrdinal(reach);
  const unknown = reach.filter((ordinal) => known[ordinal] === null);
  assert.ok(unknown.length > 0, "the other snapshot has items that this one does not reach");
  for (const frame of foreign) {
    for (let at = 0; at < reach.length; at += 100) {
      const lies = reach.slice(at, at + 100).map((ordinal) => ({ ...frame, ordinal }));
      const keys = decodeKeys(await calls.call("keys", encodeKeyQuery(lies)), lies.length);
      assert.ok(keys.every((key) => typeof key === "string"));
    }
  }
});

test("a key of one frame opens that frame and no other, of the same snapshot or of another", async () => {
  const port = await open(mine.id);
  await filesOf(port);
  const ours = await framesOf(mine.id);
  const keys = (await port.frameKeys(ours)) as readonly FrameKey[];
  const vault = (await vaultOf()).catalog;
  const all = [...ours, ...(await framesOf(others.id)).filter(({ frame }) => !ours.some((one) => one.frame === frame))];
  const rows = await vault.frames(all.map(({ frame }) => frame));
  const sealed = await Promise.all(
    rows.map(async (row) => {
      const { pack = "", offset = 0, length = 0 } = row ?? {};
      return readCalls(env.service, mine.id, env.auth).readPack(pack, { offset, length });
    }),
  );
  assert.ok(ours.length > 1 && all.length > ours.length);
  for (const [which, { key, binding }] of keys.entries())
    for (const [at, bytes] of sealed.entries()) {
      if (at === which) assert.ok(openFrame(bytes, key, binding).length > 0);
      else assert.throws(() => openFrame(bytes, key, binding), /does not decrypt/);
    }
});

test("404: another account's snapshot, one of another vault, a pack that is not there; 403 without the scope", async () => {
  const message = { body: Buffer.from([1, 16, 0]), "content-type": "application/vnd.emanet.read" };
  const post = (id: string, headers: Readonly<Record<string, string>>) =>
    env.service.send("POST", `/v1/snapshots/${id}/read/open`, {
      ...{ body: message.body, headers: { ...headers, "content-type": message["content-type"] } },
    });
  assert.equal((await post(mine.id, env.auth)).status, 200);
  assert.equal((await post(randomUUID(), env.auth)).status, 404);
  const stranger = await tokenFor(env.service, { as: "client", kind: "api" });
  assert.equal((await post(mine.id, stranger.auth)).status, 404);
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.equal((await post(mine.id, held)).status, 404);
  const writer = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
  assert.equal((await post(mine.id, writer)).status, 403);
  assert.equal((await env.get(`/v1/snapshots/${mine.id}/packs/${"0".repeat(32)}`)).status, 404);
});

/** Calls that count, and a port that knows which paths it will read. */
async function openCounting(id: string, paths: readonly string[], withContent = true) {
  const calls = readCalls(env.service, id, env.auth);
  const made: string[] = [];
  const port = await RemoteReadPort.open(
    {
      call: (operation, request) => {
        made.push(operation);
        return calls.call(operation, request);
      },
      readPack: (pack, range) => {
        made.push("pack");
        return calls.readPack(pack, range);
      },
    },
    { paths: paths.map((path) => Buffer.from(path)), withContent },
  );
  return { port, made };
}

test("a client that names its paths reads a file, or the whole tree, with one call", async () => {
  const one = await openCounting(mine.id, ["d/shared.bin"]);
  const reader = new FileReader({ port: one.port, pool, hashesAll: true });
  const root = await rootEntry(reader.frames, { rootOrdinal: one.port.root.ordinal, rootId: one.port.root.id });
  const folder = await findEntry(reader.frames, root.root, Buffer.from("d"));
  assert.ok(folder?.type === "directory");
  const entry = await findEntry(reader.frames, folder.root, Buffer.from("shared.bin"));
  assert.ok(entry?.type === "file");
  assert.ok(Buffer.concat(await Array.fromAsync(reader.read(entry))).equals(shared));
  assert.deepEqual(one.made, ["find"]);
  const whole = await openCounting(mine.id, [""]);
  const files = await filesOf(whole.port);
  assert.ok(files["d/own.bin"]?.equals(own) && files["d/shared.bin"]?.equals(shared));
  // The tree came with the first call: the others are about content.
  assert.equal(whole.made.filter((each) => each === "find").length, 1);
  assert.ok(!whole.made.slice(0, 2).includes("pack"), whole.made.join(" "));
});

test("paths that are not there, wrong ones and hostile ones find nothing and harm nothing", async () => {
  const hostile = ["yok", "a.txt/b", "../s/secret.bin", "/", "d/".repeat(20_000), "\0", "d//own.bin"];
  const { port, made } = await openCounting(mine.id, hostile);
  assert.ok((await filesOf(port))["d/own.bin"]?.equals(own));
  assert.equal(made[0], "find");
});

test("after a repack what was found earlier is asked for again where it is gone", async () => {
  const { port } = await openCounting(mine.id, ["d/own.bin"]);
  await repack(await vaultOf());
  assert.ok((await filesOf(port))["d/own.bin"]?.equals(own));
});

test("what a client finds by paths is of its snapshot alone", async () => {
  const found = async (id: string, paths: readonly string[]) => {
    const body = encodeFind({ withContent: true, paths: paths.map((path) => Buffer.from(path)) });
    return decodeFound(await readCalls(env.service, id, env.auth).call("find", body)).found;
  };
  const theirs = await found(others.id, ["s/secret.bin"]);
  assert.ok(theirs.items.length > 0 && theirs.frames.length > 0 && theirs.ranges.length > 0);
  assert.ok(theirs.keys.length > 0 && theirs.keys.length <= theirs.frames.length);
  const ours = await found(mine.id, ["s/secret.bin", "d/own.bin", ""]);
  const port = await open(mine.id);
  const reached = await port.itemsByOrdinal(ours.items.map(({ ordinal }) => ordinal));
  assert.ok(reached.every((item) => item !== null));
  const secretFrames = new Set(theirs.frames.filter(({ kind }) => kind === "data").map(({ frame }) => frame));
  assert.ok(secretFrames.size > 0);
  assert.ok(ours.keys.every(({ frame }) => !secretFrames.has(frame)));
});

test("a client whose right is taken is refused at its next call", async () => {
  const reader = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
  const port = await open(mine.id, reader.auth);
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/members/${reader.personId}`, { headers })).status, 204);
  await assert.rejects(port.itemsByOrdinal([port.root.ordinal]), /401/);
});

test("422: a message that is none", async () => {
  const headers = { ...env.auth, "content-type": "application/vnd.emanet.read" };
  for (const [operation, body] of [
    ["items", Buffer.from([1, 17, 255, 255, 3])],
    ["keys", Buffer.from("no message")],
    ["frames", Buffer.alloc(0)],
    ["find", Buffer.from([1, 20, 0, 200, 1, 0])],
  ] as const) {
    const answer = await env.service.send("POST", `/v1/snapshots/${mine.id}/read/${operation}`, { body, headers });
    assert.equal(answer.status, 422, operation);
  }
});

test("one file is found without reading the others", async () => {
  const port = await open(mine.id);
  const reader = new FileReader({ port, pool });
  const root = await rootEntry(reader.frames, { rootOrdinal: port.root.ordinal, rootId: port.root.id });
  const entry = await findEntry(reader.frames, root.root, Buffer.from("a.txt"));
  assert.ok(entry?.type === "file");
  assert.equal(Buffer.concat(await Array.fromAsync(reader.read(entry))).toString(), "merhaba");
});
