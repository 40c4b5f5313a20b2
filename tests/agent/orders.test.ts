/** Restores that are ordered from outside: they write where the owner of the machine opened a folder, and nowhere else. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { moveTree } from "../../packages/agent/src/orders/move-tree.ts";
import { OpenFolder, TargetRefusedError } from "../../packages/agent/src/orders/open-folder.ts";
import { rootOf } from "../../packages/agent/src/orders/run-order.ts";
import { safeName } from "../../packages/agent/src/orders/safe-name.ts";
import { makeClient } from "../../packages/server/src/accounts/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { agentOf, startForAgents, type TestAgent, writeTree } from "./testing.ts";

const world = await startForAgents({ after });
const { service, demo } = world;

/** After it the service takes a run for gone. */
const goneMs = 121_000;

interface Office {
  readonly agent: TestAgent;
  readonly root: string;
  readonly outside: string;
  /** Runs `emanet orders --once` and returns its lines. */
  readonly work: (...more: readonly string[]) => Promise<readonly unknown[]>;
  /** Orders a restore; the restore as the service shows it after the agent has worked. */
  readonly order: (target: object, work?: () => Promise<unknown>) => Promise<Readonly<Record<string, unknown>>>;
  /** Of an owner of the account. */
  readonly auth: Readonly<Record<string, string>>;
  readonly agentId: string | undefined;
}

/** A machine with a write-only credential, a snapshot, and a folder that is open for restores. */
async function office(t: Parameters<typeof agentOf>[0]): Promise<Office> {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const { client, secret } = await makeClient(service, auth, { scopes: ["snapshots:write"] });
  const agent = await agentOf(t, world, { id: client.id, secret });
  const from = writeTree(path.join(agent.folder, "from"), {
    "defter.xml": "yedekteki",
    "alt/b.txt": "b",
    "alt/çok/c.txt": "c",
  });
  chmodSync(path.join(from, "alt/b.txt"), 0o6755);
  const { snapshot_id } = await agent.backUp(from, "--source", `makine ${client.id}`);
  const root = path.join(agent.folder, "açık");
  const outside = writeTree(path.join(agent.folder, "kapalı"), { "benim.txt": "dokunma" });
  mkdirSync(root);
  const work = async (...more: readonly string[]) =>
    (await agent.run(["orders", "--once", "--root", root, "--threads", "0", "--json", ...more])).lines;
  await work();
  const { json: agents } = await service.send("GET", "/v1/agents", { headers: auth });
  const own = ((agents?.data ?? []) as readonly { id: string; writer: { id: string } }[]).find(
    ({ writer }) => writer.id === client.id,
  );
  const order = async (target: object, run: () => Promise<unknown> = () => work()) => {
    const body = { snapshot_id, target: { kind: "agent", agent_id: own?.id, ...target } };
    const made = await service.send("POST", "/v1/restore", { json: body, headers: auth });
    if (made.status !== 202) return { status: `refused ${made.status}` };
    const read = async () => (await service.send("GET", `/v1/restore/${made.json?.id}`, { headers: auth })).json ?? {};
    for (let tries = 0; tries < 200 && (await read()).status === "pending"; tries++) await run();
    return read();
  };
  return { agent, root, outside, work, order, auth, agentId: own?.id };
}

describe("an order", () => {
  test("without a path makes a new folder for its user alone, below the folder that was opened", async (t) => {
    const { root, order } = await office(t);
    const restore = await order({});
    assert.equal(restore.status, "completed", JSON.stringify(restore));
    const [name = ""] = readdirSync(root);
    assert.equal(statSync(path.join(root, name)).mode & 0o777, 0o700);
    assert.equal(readFileSync(path.join(root, name, "alt/çok/c.txt"), "utf8"), "c");
    assert.equal(statSync(path.join(root, name, "alt/b.txt")).mode & 0o7000, 0, "no special bits");
  });

  test("with a path writes there; a file that is there stays, and the new one gets another name", async (t) => {
    const { root, order } = await office(t);
    writeTree(root, { "geri/defter.xml": "şimdiki" });
    const restore = await order({ path: path.join(root, "geri") });
    assert.equal(restore.status, "completed", JSON.stringify(restore));
    const read = (name: string) => readFileSync(path.join(root, "geri", name), "utf8");
    assert.deepEqual([read("defter.xml"), read("defter (2).xml"), read("alt/b.txt")], ["şimdiki", "yedekteki", "b"]);
    assert.deepEqual(readdirSync(root), ["geri"], "nothing else is left");
  });

  test("replaces files only where the machine permits it", async (t) => {
    const { root, order, work } = await office(t);
    writeTree(root, { "geri/defter.xml": "şimdiki" });
    const target = { path: path.join(root, "geri"), on_conflict: "overwrite" };
    assert.equal((await order(target)).status, "refused 422");
    await work("--allow-overwrite");
    // The service believes what was reported; the machine has changed its mind.
    const refused = await order(target, () => work());
    assert.equal(refused.status, "failed");
    assert.equal(readFileSync(path.join(root, "geri/defter.xml"), "utf8"), "şimdiki");
    await work("--allow-overwrite");
    const done = await order(target, () => work("--allow-overwrite"));
    assert.equal(done.status, "completed", JSON.stringify(done));
    assert.equal(readFileSync(path.join(root, "geri/defter.xml"), "utf8"), "yedekteki");
  });

  test("is not waited for where a root is no folder", async (t) => {
    const { agent } = await office(t);
    const [file, gone, dangling] = ["dosya", "yok", "bağ"].map((name) => path.join(agent.folder, name));
    writeTree(agent.folder, { dosya: "x" });
    symlinkSync(String(gone), String(dangling));
    for (const [root, reason] of [
      [file, "takes a folder"],
      [gone, "not found"],
      [dangling, "not found"],
    ] as const) {
      const ran = await agent.run(["orders", "--once", "--root", String(root)]);
      assert.equal(ran.code, 2);
      assert.ok(ran.stderr.includes(reason) && ran.stderr.includes(String(root)), ran.stderr);
    }
  });

  test("to a path that the owner did not open writes nothing", async (t) => {
    const { agent, outside, root, order } = await office(t);
    assert.equal((await order({ path: outside })).status, "refused 422");
    // The service was told of more than this machine permits now.
    const all = () => agent.run(["orders", "--once", "--root", agent.folder, "--threads", "0"]);
    await all();
    const codes: number[] = [];
    const other = async () =>
      codes.push((await agent.run(["orders", "--once", "--root", root, "--threads", "0"])).code);
    for (const target of [outside, `${root}/../kapalı`, path.join(outside, "yeni")]) {
      await all();
      const restore = await order({ path: target }, other);
      assert.match(String(restore.status), /^failed|^refused 422/, target);
    }
    assert.ok(codes.includes(3), "an order that failed is said by the exit code");
    assert.deepEqual(readdirSync(outside), ["benim.txt"]);
  });

  test("through a link out of the folder writes nothing there, also when the link appears on the way", async (t) => {
    const { root, outside, order } = await office(t);
    symlinkSync(outside, path.join(root, "bağ"));
    for (const target of ["bağ", "bağ/alt"]) {
      const restore = await order({ path: path.join(root, target) });
      assert.equal(restore.status, "failed", JSON.stringify(restore));
    }
    // A folder of the snapshot is a link at the target.
    mkdirSync(path.join(root, "geri"));
    symlinkSync(outside, path.join(root, "geri/alt"));
    const inner = await order({ path: path.join(root, "geri") });
    assert.equal(inner.status, "completed", JSON.stringify(inner));
    assert.equal(readFileSync(path.join(root, "geri/defter.xml"), "utf8"), "yedekteki");
    assert.deepEqual(readdirSync(outside), ["benim.txt"]);
    // The root itself is another folder than the one that was named, or a link.
    const named = rootOf(root);
    renameSync(root, `${root}-eski`);
    mkdirSync(root);
    assert.throws(() => OpenFolder.open(named.path, named.identity), TargetRefusedError);
    renameSync(root, `${root}-yeni`);
    symlinkSync(outside, root);
    assert.throws(() => OpenFolder.open(named.path, named.identity), TargetRefusedError);
  });
});

test("a folder that is swapped for a link after it was opened: what was opened is written to, and nothing behind the link", async (t) => {
  for (const inside of ["geri", "geri/alt yol"]) {
    const { agent, root, outside, order } = await office(t);
    const target = writeTree(path.join(root, inside), { "alt/benim.txt": "şimdiki" });
    const swapped = path.join(root, "geri");
    let isOver = false;
    // The private folder is made when the folders of the order's path are open, and before anything is read.
    const swap = async () => {
      while (!isOver && !readdirSync(root).some((name) => name.startsWith(".emanet-order-")))
        await new Promise((resolve) => setImmediate(resolve));
      renameSync(swapped, `${swapped}-eski`);
      symlinkSync(outside, swapped);
    };
    const work = async () => {
      const swapping = swap();
      await agent.run(["orders", "--once", "--root", root, "--threads", "0"]);
      isOver = true;
      await swapping;
    };
    const restore = await order({ path: target }, work);
    assert.equal(restore.status, "completed", JSON.stringify(restore));
    assert.deepEqual(readdirSync(outside), ["benim.txt"]);
    const written = path.join(`${swapped}-eski`, path.relative("geri", inside), "alt");
    assert.deepEqual(readdirSync(written).sort(), ["b.txt", "benim.txt", "çok"]);
  }
});

test("folders that another process swaps for links again and again: nothing is written behind a link", async (t) => {
  const { root, outside, order } = await office(t);
  const target = writeTree(path.join(root, "geri"), { "alt/": "" });
  // A step fails where the order has just made a folder. The next round goes on.
  const swap = `
    const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
    const [target, outside] = process.argv.slice(1);
    const attempt = (step) => { try { step(); } catch {} };
    console.log("ready");
    for (let i = 0; ; i++) for (const folder of [target, target + "/alt"]) {
      attempt(() => renameSync(folder, folder + "-" + i));
      attempt(() => symlinkSync(outside, folder));
      attempt(() => unlinkSync(folder));
      attempt(() => renameSync(folder + "-" + i, folder));
    }`;
  const child = spawn(process.execPath, ["-e", swap, target, outside], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  await once(child.stdout, "data");
  try {
    for (let i = 0; i < scaled(1, 20); i++)
      assert.match(String((await order({ path: target })).status), /^completed|^failed/);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
  assert.deepEqual(readdirSync(outside), ["benim.txt"]);
});

test("a signal ends a run in the middle of an order; nothing is reported as failed, and the next run does it to its end", async (t) => {
  const { agent, root, order, work, auth } = await office(t);
  const interrupt = new AbortController();
  // Its folder is made before anything is fetched.
  const begun = setInterval(() => {
    if (readdirSync(root).length > 0) interrupt.abort(new DOMException("ended", "AbortError"));
  }, 1);
  const args = ["orders", "--once", "--root", root, "--threads", "0", "--json"];
  const codes: number[] = [];
  const interrupted = await order({}, async () => {
    codes.push((await agent.run(args, { signal: interrupt.signal })).code);
  });
  clearInterval(begun);
  assert.deepEqual([codes, interrupted.status], [[130], "running"]);
  service.clock.advance(goneMs);
  await work();
  const { json: restore } = await service.send("GET", `/v1/restore/${interrupted.id}`, { headers: auth });
  assert.equal(restore?.status, "completed", JSON.stringify(restore));
  const [name = ""] = readdirSync(root);
  assert.equal(readFileSync(path.join(root, name, "alt/çok/c.txt"), "utf8"), "c");
});

test("damaged content: the order fails and writes nothing at its path, or says what is missing and brings the rest", async (t) => {
  const { agent, root, auth, agentId } = await office(t);
  // Large enough for a pack of its own, beside that with the tree.
  const from = writeTree(path.join(agent.folder, "hasarlı"), {
    "büyük.bin": randomBytes(9_000_000),
    "küçük.txt": "sağlam",
  });
  const { snapshot_id: id } = await agent.backUp(from, "--source", "hasarlı");
  const { json } = await service.send("GET", `/v1/snapshots/${id}`, { headers: auth });
  const vault = await service.running.services?.vaults.open(demo.account_id, String(json?.vault_id));
  assert.ok(vault !== undefined);
  let damaged = 0;
  for await (const { name } of vault.store.list(vault.names.packs)) {
    const bytes = Buffer.from(await vault.store.get(name));
    // A pack of an agent has 6 to 8 MiB.
    if (bytes.length < 6_000_000) continue;
    for (let at = 2_000_000; at < 5_000_000; at += 1000) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await vault.store.put(name, bytes);
    damaged++;
  }
  assert.ok(damaged > 0);
  const ends: unknown[] = [];
  for (const on_damage of ["fail", "skip"]) {
    const target = { kind: "agent", agent_id: agentId, path: path.join(root, on_damage) };
    const made = await service.send("POST", "/v1/restore", {
      json: { snapshot_id: id, on_damage, target },
      headers: auth,
    });
    assert.equal(made.status, 202, made.body.toString());
    const { code } = await agent.run(["orders", "--once", "--root", root, "--threads", "0"]);
    const { json: ended } = await service.send("GET", `/v1/restore/${made.json?.id}`, { headers: auth });
    const names = existsSync(target.path) ? readdirSync(target.path) : [];
    ends.push([code, ended?.status, Number(ended?.warning_count) > 0, names]);
  }
  assert.deepEqual(ends, [
    [3, "failed", true, []],
    [0, "completed", true, ["küçük.txt"]],
  ]);
});

test("the private folder of an order is its user's alone; one that others can enter is refused", async (t) => {
  const folder = await temporaryFolder(t);
  const root = OpenFolder.open(folder);
  root.enterPrivate("yeni").close();
  assert.equal(statSync(path.join(folder, "yeni")).mode & 0o777, 0o700);
  root.enterPrivate("yeni").close();
  for (const mode of [0o777, 0o750, 0o701]) {
    chmodSync(path.join(folder, "yeni"), mode);
    assert.throws(() => root.enterPrivate("yeni"), TargetRefusedError, mode.toString(8));
  }
  root.close();
});

test("a root that is another folder, or a link, when the order comes: nothing is written", async (t) => {
  for (const put of [
    (root: string) => mkdirSync(root),
    (root: string, outside: string) => symlinkSync(outside, root),
  ]) {
    const { agent, root, outside, order } = await office(t);
    let isSwapped = false;
    // The command draws a number for its run after it has looked at its roots, and before it asks for orders.
    const newKey = () => {
      if (!isSwapped) {
        renameSync(root, `${root}-eski`);
        put(root, outside);
      }
      isSwapped = true;
      return randomUUID();
    };
    const restore = await order({}, () =>
      agent.run(["orders", "--once", "--root", root, "--threads", "0"], { context: { newKey } }),
    );
    assert.equal(restore.status, "failed", JSON.stringify(restore));
    assert.deepEqual(
      [readdirSync(root), readdirSync(`${root}-eski`)],
      [existsSync(path.join(root, "benim.txt")) ? ["benim.txt"] : [], []],
    );
  }
});

test("special bits are gone from a file that is moved", async (t) => {
  const folder = await temporaryFolder(t);
  writeTree(folder, { "from/a": "1", "to/": "" });
  chmodSync(path.join(folder, "from/a"), 0o6755);
  const [from, to] = [OpenFolder.open(path.join(folder, "from")), OpenFolder.open(path.join(folder, "to"))];
  moveTree(from, to, { onConflict: "rename", platform: "linux", isOwn: () => false, warn: () => assert.fail() });
  for (const each of [from, to]) each.close();
  assert.equal(statSync(path.join(folder, "to/a")).mode & 0o7777, 0o755);
});

test("names that Windows takes for separators and devices are moved as one entry each", async (t) => {
  const folder = await temporaryFolder(t);
  writeTree(folder, { "from/..\\..\\x": "1", "from/CON": "2", "from/alt./nul.txt": "3", "to/": "" });
  const [from, to] = ["from", "to"].map((name) => OpenFolder.open(path.join(folder, name)));
  assert.ok(from !== undefined && to !== undefined);
  const warned: string[] = [];
  moveTree(from, to, {
    ...{ onConflict: "rename", platform: "win32", isOwn: () => false },
    warn: ({ path: name, code }) => warned.push(`${name} ${code}`),
  });
  for (const each of [from, to]) each.close();
  const moved = readdirSync(path.join(folder, "to"), { recursive: true }).sort();
  assert.deepEqual(moved, ["%43ON", "..%5C..%5Cx", "alt%2E", "alt%2E/%6Eul.txt"]);
  assert.deepEqual(warned.sort(), ["..\\..\\x renamed", "CON renamed", "alt. renamed", "alt./nul.txt renamed"]);
});

test("names are escaped for the platform", () => {
  const windows = (name: string) => safeName(Buffer.from(name), "win32").toString();
  assert.deepEqual(
    ["..\\..\\x", "CON", "con.txt", "COM1", "a:b", "son.", "boş ", "normal.xml", "İ.txt", "100%"].map(windows),
    ["..%5C..%5Cx", "%43ON", "%63on.txt", "%43OM1", "a%3Ab", "son%2E", "boş%20", "normal.xml", "İ.txt", "100%25"],
  );
  assert.equal(safeName(Buffer.from("..\\..\\x"), "linux").toString(), "..\\..\\x", "on Linux that is a name");
});
