/** A machine with the credentials of an OAuth client: everything that an office does with its backups, against the real service. */

import assert from "node:assert/strict";
import { appendFileSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { after, describe, test } from "node:test";
import { isNewer } from "../../packages/agent/src/api/release.ts";
import { assertSameTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { makeClient } from "../../packages/server/src/accounts/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { agentOf, startForAgents, TestAgent, writeTree } from "./testing.ts";

const world = await startForAgents({ after });
const { service, demo } = world;

describe("back up, change a file, back up again, find it, restore it", async () => {
  const agent = await agentOf({ after }, world);
  const from = writeTree(path.join(agent.folder, "ofis"), {
    "Mükellef/2026/İlk ığş.xml": "<a/>".repeat(500),
    "Mükellef/2026/defter.xml": "<b/>".repeat(800),
    "boş/": "",
    "büyük.bin": Buffer.alloc(3_000_000, "abc"),
  });
  settleTimes(from);

  test("the first backup says what it read and sent, in the language of the machine", async () => {
    const ran = await agent.run(["backup", from, "--source", "ofis", "--label", "ilk"], {
      environment: { language: "tr" },
    });
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /ofis yedeklendi .*sn/);
    assert.match(ran.stdout, /okunan {4}3 dosya, 3,0 MB/);
    assert.equal(ran.stderr, "", "no progress without a terminal");
  });

  test("the second one sends only what changed", async () => {
    appendFileSync(path.join(from, "Mükellef/2026/defter.xml"), "<c/>");
    const summary = await agent.backUp(from, "--label", "ikinci");
    assert.equal(summary.file_count, 3);
    assert.ok(Number(summary.new_bytes) < 20_000, JSON.stringify(summary));
  });

  test("snapshots, ls, find, history, diff and cat show it", async () => {
    const snapshots = await agent.json("snapshots", "--source", "ofis");
    assert.deepEqual(
      snapshots.map(({ label }) => label),
      ["ikinci", "ilk"],
    );
    const [newer = "", older = ""] = snapshots.map(({ id }) => String(id));
    const names = (await agent.json("ls", "latest", "Mükellef/2026")).map((line) => line.path);
    assert.deepEqual(names, ["Mükellef/2026/defter.xml", "Mükellef/2026/İlk ığş.xml"]);
    assert.equal((await agent.json("ls", older.slice(0, 20), "--recursive")).length, 6);
    const found = await agent.json("find", "DEFTER");
    assert.deepEqual(
      found.map((line) => [line.path, line.snapshot_id]),
      [["Mükellef/2026/defter.xml", newer]],
    );
    assert.deepEqual(
      (await agent.json("find", "*.bin")).map((line) => line.path),
      ["büyük.bin"],
    );
    assert.deepEqual(
      (await agent.json("find", "ilk", "--snapshot", older)).map((line) => line.path),
      ["Mükellef/2026/İlk ığş.xml"],
    );
    const versions = await agent.json("history", "Mükellef/2026/defter.xml", "--source", "ofis");
    assert.deepEqual(
      versions.map((line) => line.size_bytes),
      [3204, 3200],
    );
    const changes = await agent.json("diff", older, newer);
    assert.deepEqual(
      changes.map((line) => [line.change, line.path]),
      [["changed", "Mükellef/2026/defter.xml"]],
    );
    const { code, bytes } = await agent.run(["cat", older, "Mükellef/2026/defter.xml"]);
    assert.deepEqual([code, bytes.toString()], [0, "<b/>".repeat(800)]);
  });

  test("restore gives every byte, mode and time back; a part of it too; check reads everything back", async () => {
    const target = path.join(agent.folder, "geri");
    const restored = ["restore", "latest", "--source", "ofis", "--target", target, "--threads", "0"];
    const summary = (await agent.json(...restored)).at(-1);
    assert.equal(summary?.files, 3);
    assertSameTree(from, target);
    const part = path.join(agent.folder, "parça");
    await agent.json("restore", "latest", "Mükellef/2026/defter.xml", "--target", part, "--threads", "0");
    assert.deepEqual(
      readFileSync(path.join(part, "Mükellef/2026/defter.xml")),
      readFileSync(path.join(from, "Mükellef/2026/defter.xml")),
    );
    const checked = (await agent.json("check", "--threads", "0")).at(-1);
    assert.deepEqual([checked?.files, checked?.damaged], [3, 0]);
  });

  test("status names the last backup; what the agent keeps is for its user alone", async () => {
    const [status] = await agent.json("status");
    assert.equal(status?.service, "ok");
    const sources = (status?.sources ?? []) as readonly { readonly source: string; readonly result: string }[];
    assert.deepEqual(
      sources.map(({ source, result }) => [source, result]),
      [["ofis", "completed"]],
    );
    const { stateFolder } = agent.environment;
    assert.equal(statSync(stateFolder).mode & 0o777, 0o700);
  });
});

test("a machine that lost its files goes on with the same credential, and sends nothing again", async (t) => {
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "veri"), { "a.bin": Buffer.alloc(500_000, "kayıp") });
  await agent.backUp(from, "--source", "kayıp");
  rmSync(agent.environment.stateFolder, { recursive: true });
  rmSync(agent.environment.cacheFolder, { recursive: true });
  const again = await agent.backUp(from, "--source", "kayıp");
  assert.ok(Number(again.new_bytes) < 5_000, JSON.stringify(again));
});

test("a credential that may only write backs up and cannot read", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const { client, secret } = await makeClient(service, auth, { scopes: ["snapshots:write"] });
  const agent = await agentOf(t, world, { id: client.id, secret });
  const from = writeTree(path.join(agent.folder, "veri"), { "a.txt": "gizli" });
  await agent.backUp(from, "--source", "yalnız yazan");
  await agent.backUp(from, "--source", "yalnız yazan");
  for (const args of [["snapshots"], ["restore", "latest", "--target", path.join(agent.folder, "x")]]) {
    const { code, stderr } = await agent.run(args);
    assert.deepEqual([code, /insufficient_scope/.test(stderr)], [4, true], stderr);
  }
});

test("a machine reports its version, and says when a newer one is there and how to get it", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const { client, secret } = await makeClient(service, auth, { scopes: ["snapshots:write"] });
  const agent = await agentOf(t, world, { id: client.id, secret });
  const from = writeTree(path.join(agent.folder, "veri"), { "a.txt": "1" });
  const args = ["backup", from, "--source", "sürüm", "--threads", "0"];
  const reported = async () => {
    const { json } = await service.send("GET", "/v1/agents?limit=100", { headers: auth });
    const all = (json?.data ?? []) as readonly { version: string; newest_version: string; writer: { id: string } }[];
    const own = all.find(({ writer }) => writer.id === client.id);
    return [own?.version, own?.newest_version];
  };
  const old = { context: { version: "0.0.9" } };
  const ran = await agent.run(args, old);
  const [version, newest = ""] = await reported();
  assert.equal(version, "0.0.9");
  const notice = new RegExp(
    `${newest.replaceAll(".", "\\.")} \\(.* 0\\.0\\.9\\).*npm install --global emanet@${newest}\\n`,
  );
  assert.match(ran.stdout, notice);
  assert.match((await agent.run(["status"], old)).stdout, notice);
  assert.match((await agent.run(["doctor"], old)).stdout, notice);
  assert.equal((await agent.run([...args, "--json"], old)).last.newest_version, newest);
  assert.equal((await agent.run([...args, "--quiet"], old)).stdout, "", "cron mails whatever is printed");
  const ahead = { context: { version: "99.0.0" } };
  assert.equal((await agent.run([...args, "--json"], ahead)).last.newest_version, null);
  assert.deepEqual(await reported(), ["99.0.0", newest], "another version is reported at once");
  assert.doesNotMatch((await agent.run(["status"], ahead)).stdout, /npm install/);
});

test("versions are ordered by their numbers; a suffix comes before the release", () => {
  for (const [newer, older] of [
    ["0.1.1", "0.1.0"],
    ["0.10.0", "0.9.9"],
    ["2.0.0", "1.99.99"],
    ["1.0.0", "1.0.0-rc.1"],
  ] as const)
    assert.deepEqual([isNewer(newer, older), isNewer(older, newer), isNewer(newer, newer)], [true, false, false]);
  for (const wrong of ["", "1", "1.0", "latest", "1.0.0; rm -rf /", "1.0.0\n"])
    assert.deepEqual([isNewer(wrong, "0.0.1"), isNewer("0.0.1", wrong)], [false, false], wrong);
});

test("exit codes: 1 failed, 2 wrong usage, 4 not signed in, 5 not reachable", async (t) => {
  const agent = await agentOf(t, world);
  const nobody = new TestAgent(agent.folder);
  const codes = {
    ...{ usage: await agent.run(["fly"]), option: await agent.run(["backup", "--no-such-option"]) },
    nothing: await agent.run(["backup"]),
    gone: await agent.run(["backup", path.join(agent.folder, "yok"), "--source", "x"]),
    unknown: await agent.run(["ls", "0199"]),
    nobody: await nobody.run(["snapshots"]),
    wrong: await agent.run(["snapshots"], { environment: { clientSecret: "wrong" } }),
    away: await agent.run(["snapshots"], { environment: { url: "https://127.0.0.1:1" } }),
    untrusted: await agent.run(["snapshots"], { environment: { caFile: null } }),
    help: await agent.run(["--help"]),
    verbHelp: await agent.run(["backup", "--help"]),
  };
  assert.deepEqual(Object.fromEntries(Object.entries(codes).map(([name, { code }]) => [name, code])), {
    ...{ usage: 2, option: 2, nothing: 2, gone: 1, unknown: 1, nobody: 4, wrong: 4, away: 5, untrusted: 5 },
    ...{ help: 0, verbHelp: 0 },
  });
  assert.match(codes.untrusted.stderr, /not trusted/);
  assert.match(codes.verbHelp.stdout, /--exclude-caches/);
});
