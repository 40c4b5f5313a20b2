import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

function engine(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
  return { status, stdout, stderr, json: () => JSON.parse(stdout) as Record<string, unknown> };
}

describe("the engine command", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-cli-"));
  const repo = path.join(folder, "repo");
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "klasör"), { recursive: true });
  writeFileSync(path.join(from, "klasör", "a.xml"), "<a/>".repeat(1000));
  writeFileSync(path.join(from, "b"), "b");

  test("init, backup, snapshots, restore, verify, scrub, stats, prune, repack and rebuild work on a local repository", () => {
    assert.equal(engine("init", "--repo", repo).status, 0);
    const backup = engine("backup", from, "--source", "ofis", "--repo", repo, "--json");
    assert.equal(backup.status, 0, backup.stderr);
    assert.equal(backup.json().file_count, 2);
    const target = path.join(folder, "out");
    assert.equal(engine("restore", "latest", "--target", target, "--repo", repo).status, 0);
    assert.equal(readFileSync(path.join(target, "klasör", "a.xml"), "utf8"), "<a/>".repeat(1000));
    for (const command of [
      ["verify", "--full"],
      ["scrub"],
      ["stats"],
      ["prune"],
      ["repack"],
      ["rebuild"],
      ["verify", "--full"],
    ]) {
      const { status, stderr } = engine(...command, "--repo", repo, "--json");
      assert.equal(status, 0, `${command.join(" ")}: ${stderr}`);
    }
    const listed = engine("snapshots", "--repo", repo, "--json").json().snapshots;
    assert.ok(Array.isArray(listed) && listed.length === 1);
  });

  test("parts are restored by path", () => {
    const target = path.join(folder, "part");
    assert.equal(engine("restore", "latest", "--path", "klasör/a.xml", "--target", target, "--repo", repo).status, 0);
    assert.deepEqual(readdirSync(target), ["klasör"]);
  });

  test("a lost catalog is rebuilt before anything else is done", () => {
    for (const name of readdirSync(repo)) if (name.startsWith("catalog.sqlite")) rmSync(path.join(repo, name));
    const { status, stderr, json } = engine("snapshots", "--repo", repo, "--json");
    assert.equal(status, 0);
    assert.match(stderr, /rebuilding/);
    assert.equal((json().snapshots as unknown[]).length, 1);
  });

  test("exit status: 2 for wrong usage, 1 for failure, 3 where something is damaged; help is 0", () => {
    assert.equal(engine("--help").status, 0);
    assert.equal(engine("fly", "--repo", repo).status, 2);
    assert.equal(engine("backup", "--repo", repo).status, 2);
    assert.equal(engine("snapshots", "--repo", path.join(folder, "nowhere")).status, 2);
    assert.equal(engine("restore", "latest", "--target", from, "--repo", repo).status, 1);
    const damagePack = (at: number) => {
      const [pack = ""] = readdirSync(path.join(repo, "objects"), { recursive: true, encoding: "utf8" }).filter(
        (name) => /packs.*[0-9a-f]{32}/.test(name),
      );
      const file = path.join(repo, "objects", pack);
      const bytes = readFileSync(file);
      bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      return pack;
    };
    // In the header: all frames are intact, so the pack is written again.
    damagePack(20);
    const repaired = engine("scrub", "--repo", repo);
    assert.equal(repaired.status, 3, repaired.stdout);
    assert.match(repaired.stdout, /rewritten: pack/);
    assert.equal(engine("scrub", "--repo", repo).status, 0);
    // In the first frame: header and session header are 1393 bytes.
    const pack = damagePack(1449);
    const scrubbed = engine("scrub", "--repo", repo, "--json");
    assert.equal(scrubbed.status, 3, scrubbed.stdout);
    assert.match(scrubbed.stdout, new RegExp(path.basename(pack).slice(0, 32)));
    assert.equal(engine("verify", "--full", "--repo", repo).status, 3);
    rmSync(folder, { recursive: true, force: true });
  });
});
