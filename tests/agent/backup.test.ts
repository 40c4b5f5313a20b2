/** What a backup takes, leaves out and reports, over the real service. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { after, describe, test } from "node:test";
import { filesWithPacksInMemory, packSpool, spoolOfLargeTrees } from "../../packages/agent/src/backup/pack-spool.ts";
import type { AgentContext } from "../../packages/agent/src/context.ts";
import { describeTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import {
  type CutWorkerClient,
  CutWorkerPool,
  WorkerDiedError,
} from "../../packages/engine/src/workers/cut-worker-pool.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { agentOf, startForAgents, type TestAgent, writeTree } from "./testing.ts";

const world = await startForAgents({ after });

/** The warnings that the service has for a snapshot. */
async function storedWarnings(id: unknown): Promise<readonly string[]> {
  const { auth } = await tokenFor(world.service, { accountId: world.demo.account_id });
  const { json } = await world.service.send("GET", `/v1/snapshots/${id}/warnings`, { headers: auth });
  const data = (json?.data ?? []) as readonly { readonly path: string; readonly code: string }[];
  return data.map(({ path: name, code }) => `${name} ${code}`).sort();
}

async function pathsOf(agent: TestAgent, source: string): Promise<readonly string[]> {
  const lines = await agent.json("ls", "latest", "--source", source, "--recursive");
  return lines.filter(({ kind }) => kind !== "directory").map((line) => String(line.path));
}

describe("patterns", async () => {
  const agent = await agentOf({ after }, world);
  const from = writeTree(path.join(agent.folder, "from"), {
    ...{ "a.xml": "1", "b.tmp": "2", "alt/c.xml": "3", "alt/d.tmp": "4", "alt/Ğeçici/e.xml": "5" },
    ...{ "önbellek/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n", "önbellek/f.xml": "6" },
    ...{ "sahte/CACHEDIR.TAG": "something else", "sahte/g.xml": "7" },
  });
  const cases: Readonly<Record<string, readonly [args: readonly string[], paths: readonly string[]]>> = {
    exclude: [
      ["--exclude", "*.tmp", "--exclude", "Ğeçici/", "-e", "/önbellek", "-e", "sahte"],
      ["a.xml", "alt/c.xml"],
    ],
    include: [["--include", "alt/*.xml"], ["alt/c.xml"]],
    absolute: [
      ["--include", `${from}/alt`],
      ["alt/c.xml", "alt/d.tmp", "alt/Ğeçici/e.xml"],
    ],
    caches: [
      ["--exclude-caches", "-e", "alt", "-e", "?.tmp"],
      ["a.xml", "sahte/CACHEDIR.TAG", "sahte/g.xml", "önbellek/CACHEDIR.TAG"],
    ],
  };
  for (const [name, [args, paths]] of Object.entries(cases))
    test(`${name}: ${args.join(" ").replaceAll(from, "…")}`, async () => {
      const source = ["--source", name, "--threads", "0"];
      await agent.json("backup", from, ...source, ...args);
      assert.deepEqual(await pathsOf(agent, name), paths);
      // With a file cache the walk is another one.
      await agent.json("backup", from, ...source, ...args);
      assert.deepEqual(await pathsOf(agent, name), paths);
    });

  test("a file of patterns: comments, and ! takes back in", async () => {
    const patterns = path.join(agent.folder, "patterns");
    writeFileSync(patterns, "# geçici\n*.tmp\n!b.tmp\n\n/alt/\nsahte\nönbellek\n");
    await agent.json("backup", from, "--source", "dosya", "--exclude-file", patterns, "--threads", "0");
    assert.deepEqual(await pathsOf(agent, "dosya"), ["a.xml", "b.tmp"]);
  });
});

test("with several paths, or one file, absolute patterns are paths of the machine", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(agent.folder, { "ilk/a.txt": "1", "ilk/alt/b.txt": "2", "iki/c.txt": "3", "iki/d.txt": "4" });
  const words = ["ilk", "iki"].map((name) => path.join(from, name));
  const names = async (source: string) => (await pathsOf(agent, source)).map((each) => path.basename(each));
  const back = (source: string, ...args: readonly string[]) =>
    agent.json("backup", ...args, "--source", source, "--threads", "0");
  await back("hariç", ...words, "-e", `${from}/ilk/alt`, "-e", `${from}/iki/c.txt`);
  assert.deepEqual(await names("hariç"), ["d.txt", "a.txt"]);
  await back("dahil", ...words, "--include", `${from}/ilk/alt`);
  assert.deepEqual(await names("dahil"), ["b.txt"]);
  await back("tek", `${from}/iki/c.txt`, "--include", `${from}/iki/c.txt`);
  assert.deepEqual(await names("tek"), ["c.txt"]);
});

test("a link to a folder as the only path: what is in the folder is backed up", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1", "alt/b.txt": "2" });
  const link = path.join(agent.folder, "bağ");
  symlinkSync(from, link);
  for (const word of [link, `${link}/`]) {
    await agent.json("backup", word, "--source", word, "--threads", "0", "-e", `${link}/alt`);
    assert.deepEqual(await pathsOf(agent, word), ["a.txt"]);
  }
});

test("an only path that cannot be read makes no snapshot and is named", async (t) => {
  if (process.getuid?.() === 0) return t.skip("root reads everything");
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "kapalı"), { "a.txt": "1" });
  chmodSync(from, 0);
  t.after(() => chmodSync(from, 0o700));
  const ran = await agent.run(["backup", from, "--source", "kapalı", "--threads", "0"]);
  assert.equal(ran.code, 1);
  assert.ok(ran.stderr.includes(from), ran.stderr);
  assert.deepEqual(await agent.json("snapshots", "--source", "kapalı"), []);
});

test("a backup goes on without its cache where the folder cannot be used, and says so", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1" });
  const cacheFolder = path.join(agent.folder, "dosya");
  writeFileSync(cacheFolder, "not a folder");
  const args = ["backup", from, "--source", "önbelleksiz", "--threads", "0", "--json"];
  const { code, last } = await agent.run(args, { environment: { cacheFolder } });
  assert.equal(code, 0);
  assert.match(String(last.cache_error), /ENOTDIR|EEXIST/);
  const text = await agent.run(args.slice(0, -1), { environment: { cacheFolder } });
  assert.match(text.stdout, /^The file cache could not be used: .*(ENOTDIR|EEXIST)/m);
  const { last: usual } = await agent.run(args);
  assert.equal(usual.cache_error, null);
});

for (const { deaths, code } of [
  { deaths: 2, code: 0 },
  { deaths: 3, code: 1 },
]) {
  test(`a thread that dies ${deaths} times: ${code === 0 ? "the backup begins again" : "the backup says so"}`, async (t) => {
    const agent = await agentOf(t, world);
    const from = writeTree(path.join(agent.folder, "from"), { "a.txt": randomUUID() });
    const { addClient } = CutWorkerPool.prototype;
    let died = 0;
    t.mock.method(CutWorkerPool.prototype, "addClient", function (this: CutWorkerPool, client: CutWorkerClient) {
      const id = addClient.call(this, client);
      if (died++ < deaths) queueMicrotask(() => client.onFailure(new WorkerDiedError("a worker thread has ended")));
      return id;
    });
    const source = `ölen ${deaths}`;
    const ran = await agent.run(["backup", from, "--source", source, "--threads", "1", "--json"]);
    assert.equal(ran.code, code, ran.stderr);
    assert.equal(died, 3);
    if (code === 0) assert.deepEqual(await pathsOf(agent, source), ["a.txt"]);
    else assert.match(ran.stderr, /a worker thread has ended/);
  });
}

test("fields that the service refuses are named", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1" });
  const ran = await agent.run(["backup", from, "--source", "x".repeat(300), "--threads", "0"]);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /\/source: /);
});

test("a service that is away when a backup begins is asked for a minute, the token included", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1" });
  let waitedMs = 0;
  const context = {
    wait: async (ms: number) => {
      waitedMs += ms;
    },
    random: (length: number) => Buffer.alloc(length, 255),
  };
  // Nothing listens there.
  const environment = { url: "https://127.0.0.1:1" };
  const ran = await agent.run(["backup", from, "--source", "yok", "--threads", "0"], { context, environment });
  assert.equal(ran.code, 5);
  assert.ok(waitedMs > 50_000 && waitedMs < 90_000, String(waitedMs));
});

test("strange files are restored as they were, or reported", async (t) => {
  const agent = await agentOf(t, world);
  const from = path.join(agent.folder, "from");
  const deep = Array.from({ length: 10 }, (_, i) => `uzun klasör adı ${i} ${"x".repeat(20)}`).join("/");
  writeTree(from, {
    ...{
      "İ ı ş ğ.txt": "1",
      "\u00e7.txt": "NFC",
      "c\u0327.txt": "NFD",
      "satır\nsonu.txt": "2",
      [`${deep}/son.txt`]: "3",
    },
    ...{ boş: "", "ilk ad": "bağlı", "boş klasör/": "" },
  });
  linkSync(path.join(from, "ilk ad"), path.join(from, "öteki ad"));
  symlinkSync("..", path.join(from, "döngü"));
  symlinkSync("yok", path.join(from, "kırık"));
  writeFileSync(path.join(from, "seyrek"), "");
  truncateSync(path.join(from, "seyrek"), 5_000_000);
  settleTimes(from);
  const expected = describeTree(from);
  assert.equal(spawnSync("mkfifo", [path.join(from, "boru")]).status, 0);
  const server = createServer().listen(path.join(from, "soket"));
  t.after(() => new Promise((resolve) => server.close(resolve)));

  const ran = await agent.run(["backup", from, "--source", "garip", "--threads", "0", "--json"]);
  assert.equal(ran.code, 3, ran.stderr);
  const warnings = ran.last.warnings as readonly { readonly path: string; readonly code: string }[];
  assert.deepEqual(warnings.map(({ path: name, code }) => `${name} ${code}`).sort(), [
    "boru special_file",
    "soket special_file",
  ]);
  assert.deepEqual(await storedWarnings(ran.last.snapshot_id), ["boru special_file", "soket special_file"]);
  const target = path.join(agent.folder, "to");
  await agent.json("restore", "latest", "--source", "garip", "--target", target, "--threads", "0");
  const withoutRoot = (lines: readonly string[]) => lines.slice(1);
  assert.deepEqual(withoutRoot(describeTree(target)), withoutRoot(expected));
  const [first, other] = ["ilk ad", "öteki ad"].map((name) => statSync(path.join(target, name)));
  assert.equal(first?.ino, other?.ino, "hard links are one file again");
  assert.ok(statSync(path.join(target, "seyrek")).blocks < 1000, "holes stay holes");
  const listed = (await agent.run(["ls", "latest", "--source", "garip"])).stdout;
  assert.match(listed, /satır\\nsonu\.txt/, "a name cannot end a line");
});

test("a file that grows and a folder that vanishes meanwhile: exit code 3, in the snapshot's warnings, all else is restored", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), {
    ...{ "a.txt": "1", "büyük.log": Buffer.alloc(3_000_000, "satır"), "küçük.log": "satır\n" },
    ...{ "z giden/b.txt": "2", "zz kalan/c.txt": "3" },
  });
  let [time, reports] = [Date.now(), 0];
  const context = {
    terminalColumns: () => 200,
    // The bar is drawn after every entry of the walk.
    now: () => {
      time += 100;
      return time;
    },
    err: () => {
      // The first report is about the root; its names are read before the second one.
      if (++reports === 1) return;
      for (const name of ["büyük.log", "küçük.log"]) appendFileSync(path.join(from, name), "daha\n");
      rmSync(path.join(from, "z giden"), { recursive: true, force: true });
    },
  };
  const ran = await agent.run(["backup", from, "--source", "hareketli", "--threads", "0"], { context });
  assert.equal(ran.code, 3, ran.stdout);
  assert.match(ran.stdout, /warnings +1\n/);
  const [latest] = await agent.json("snapshots", "--source", "hareketli");
  // The two that grew were read a second time, and were whole then.
  assert.deepEqual(await storedWarnings(latest?.id), ["z giden ENOENT"]);
  const target = path.join(agent.folder, "to");
  await agent.json("restore", "latest", "--source", "hareketli", "--target", target, "--threads", "0");
  assert.deepEqual(readdirSync(target).sort(), ["a.txt", "büyük.log", "küçük.log", "zz kalan"]);
  for (const name of ["a.txt", "zz kalan/c.txt"])
    assert.deepEqual(readFileSync(path.join(target, name)), readFileSync(path.join(from, name)));
  for (const [name, before] of [
    ["büyük.log", 3_000_000],
    ["küçük.log", Buffer.byteLength("satır\n")],
  ] as const) {
    const grown = readFileSync(path.join(target, name));
    assert.ok(grown.length > before, "as it was at one moment");
    assert.deepEqual(grown, readFileSync(path.join(from, name)).subarray(0, grown.length));
  }
});

test("packs are in memory until the backup has done many files, then on disk", async (t) => {
  const { environment } = await agentOf(t, world);
  const context = { environment, freeBytes: () => 1e12, newKey: () => randomUUID() } as unknown as AgentContext;
  const { spool, onFiles } = spoolOfLargeTrees(context);
  assert.equal(await spool(), null);
  onFiles(filesWithPacksInMemory);
  assert.equal(await spool(), null);
  onFiles(filesWithPacksInMemory + 1);
  const pack = await spool();
  assert.ok(pack !== null);
  await pack.remove();
});

test("packs on disk have no name, are read as often as needed, and are not used where the disk is nearly full", async (t) => {
  const agent = await agentOf(t, world);
  const context = (free: number) =>
    ({ environment: agent.environment, freeBytes: () => free, newKey: () => randomUUID() }) as unknown as AgentContext;
  assert.equal(await packSpool(context(100_000_000))(), null);
  const pack = await packSpool(context(1e12))();
  assert.ok(pack !== null);
  const parts = Array.from({ length: 5 }, (_, i) => Buffer.alloc(150_000, i + 1));
  for (const part of parts) await pack.write(part);
  assert.deepEqual(readdirSync(path.join(agent.environment.cacheFolder, "spool")), []);
  for (let i = 0; i < 2; i++) {
    const read: readonly Buffer[] = await Array.fromAsync(pack.chunks(), (chunk) => Buffer.from(chunk));
    assert.ok(Buffer.concat(read).equals(Buffer.concat(parts)));
  }
  await pack.remove();
});

test("a large pack arrives whole, from the disk and from memory, also at a limited speed", async (t) => {
  const agent = await agentOf(t, world);
  const content = randomBytes(3_000_000);
  for (const [name, free, more] of [
    ["disk", 1e12, []],
    ["bellek", 1000, []],
    ["yavaş", 1e12, ["--limit-upload", "100000"]],
  ] as const) {
    const from = writeTree(path.join(agent.folder, name), { "büyük.bin": Buffer.concat([Buffer.from(name), content]) });
    const args = ["backup", from, "--source", name, "--threads", "0", ...more];
    const ran = await agent.run(args, { context: { freeBytes: () => free } });
    assert.equal(ran.code, 0, ran.stderr);
    const to = path.join(agent.folder, `${name} geri`);
    await agent.json("restore", "latest", "--source", name, "--target", to, "--threads", "0");
    assert.ok(readFileSync(path.join(to, "büyük.bin")).equals(readFileSync(path.join(from, "büyük.bin"))), name);
  }
});

test("a second backup of a source at the same time is refused with exit code 6, and the first one goes on", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1", "b.txt": "2" });
  const args = ["backup", from, "--source", "aynı anda", "--threads", "0"];
  let time = Date.now();
  const others: Promise<{ readonly code: number; readonly stderr: string }>[] = [];
  const context = {
    terminalColumns: () => 200,
    // The bar is drawn while the backup runs.
    now: () => {
      time += 100;
      return time;
    },
    err: () => {
      if (others.length === 0) others.push(agent.run(args));
    },
  };
  const first = await agent.run(args, { context });
  assert.equal(first.code, 0, first.stdout);
  const [second] = await Promise.all(others);
  assert.equal(second?.code, 6);
  assert.match(second.stderr, /another backup of aynı anda is running/);
  assert.equal((await agent.run(args)).code, 0, "afterwards it is not refused");
});

test("--force reads files that look unchanged; without it they are not read", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1" });
  // The cache takes only files that changed a while before the backup.
  const context = { now: () => Date.now() + 60_000 };
  const unchanged = async (...more: readonly string[]) => {
    const args = ["backup", from, "--source", "zorla", "--threads", "0", "--json", ...more];
    return (await agent.run(args, { context })).last.unchanged_files;
  };
  assert.deepEqual([await unchanged(), await unchanged(), await unchanged("--force"), await unchanged()], [0, 1, 0, 1]);
});

test("--limit-upload: a pack is not sent faster", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.bin": randomBytes(2_000_000) });
  const began = Date.now();
  let longestMs = 0;
  const context = {
    now: () => began,
    wait: async (ms: number) => {
      longestMs = Math.max(longestMs, ms);
    },
  };
  const args = ["backup", from, "--source", "yavaş", "--threads", "0", "--limit-upload", "100"];
  assert.equal((await agent.run(args, { context })).code, 0);
  // The clock stands still: the last piece waits for the time of all before it.
  assert.ok(longestMs > 18_000 && longestMs < 30_000, String(longestMs));
});

test("standard input becomes a file; an empty one makes no snapshot", async (t) => {
  const agent = await agentOf(t, world);
  const dump = Buffer.alloc(2_000_000, "yedek ");
  const args = ["backup", "--stdin", "gece/LOGO.bak", "--source", "döküm", "--threads", "0"];
  const ran = await agent.run(args, { stdin: dump });
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual((await agent.run(["cat", "latest", "gece/LOGO.bak", "--source", "döküm"])).bytes, dump);
  assert.equal((await agent.run(args, { stdin: "" })).code, 2);
  assert.equal((await agent.json("snapshots", "--source", "döküm", "--all")).length, 1);
  assert.deepEqual(readdirSync(path.join(agent.environment.cacheFolder, "spool")), [], "nothing is left on disk");
});

test("a second backup of a source that is running ends with its own code and changes nothing", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "1" });
  const args = ["backup", from, "--source", "bir", "--threads", "0"];
  const ran = await Promise.all([agent.run(args), agent.run(args)]);
  assert.deepEqual(ran.map(({ code }) => code).sort(), [0, 6]);
});

test("an interrupted backup is canceled; what it had sent is not sent again", async (t) => {
  const agent = await agentOf(t, world);
  const from = path.join(agent.folder, "from");
  mkdirSync(from);
  for (let i = 0; i < 8; i++) writeFileSync(path.join(from, `${i}.txt`), `${i}`.repeat(100_000));
  const interrupt = new AbortController();
  interrupt.abort(new DOMException("ended", "AbortError"));
  const ran = await agent.run(["backup", from, "--source", "yarım", "--threads", "0"], { signal: interrupt.signal });
  assert.equal(ran.code, 130);
  const summary = await agent.backUp(from, "--source", "yarım");
  assert.equal(summary.file_count, 8);
});
