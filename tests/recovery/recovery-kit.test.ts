/** A recovery kit and a copy of the bucket are enough: the engine's command and `emanet` restore every byte without the service. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { snapshotTest, tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { makeVault } from "../../packages/server/src/vaults/testing.ts";
import { TestAgent } from "../agent/testing.ts";

const agentMain = fileURLToPath(new URL("../../packages/agent/src/main.ts", import.meta.url));
const main = fileURLToPath(new URL("../../packages/engine-cli/src/main.ts", import.meta.url));

function engine(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

/** The command `emanet` in a process of its own, without a sign-in and without an address of the service. */
function emanetProcess(...args: string[]) {
  const environment = { PATH: process.env.PATH, HOME: folder, TMPDIR: process.env.TMPDIR, LANG: "en_US.UTF-8" };
  const { status, stderr } = spawnSync(process.execPath, [agentMain, ...args], { encoding: "utf8", env: environment });
  return { status, stderr };
}

const folder = await temporaryFolder({ after });
/** The same in this process: its start costs more than what most of its verbs do here. */
const machine = new TestAgent(await temporaryFolder({ after }));
const emanet = (...args: string[]) => machine.run(args);
const env = await snapshotTest({ after });
const { service } = env;
const { personId } = await tokenFor(service, { accountId: env.accountId, role: "owner" });
/** Always the same person, who is bound to the source, with a new token. */
const owner = () => env.as({ personId: personId ?? "" });
const call = async (method: string, at: string) => service.send(method, at, { headers: await owner() });
const hourMs = 3_600_000;

async function backUp(vaultId: string, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const sent = await service.send("POST", `/v1/snapshots?source=defter&vault_id=${vaultId}`, {
    body: tarOf(files),
    headers: { ...(await owner()), "content-type": "application/x-tar" },
  });
  assert.equal(sent.status, 201, sent.body.toString());
  return String(sent.json?.id);
}

async function fetchKit(vaultId: string): Promise<Buffer> {
  // A day passes here. Upkeep would delete packs while the test copies them.
  await storedRows(service.database, "update emanet.jobs set run_at = 'infinity' where task like 'upkeep.%'");
  const ordered = await call("POST", `/v1/vaults/${vaultId}/recovery-kits`);
  assert.equal(ordered.status, 202, ordered.body.toString());
  service.clock.advance(24 * hourMs);
  const kit = await call("POST", `/v1/recovery-kits/${ordered.json?.id}/download`);
  assert.equal(kit.status, 200, kit.body.toString());
  return kit.body;
}

/** As an S3 program copies a bucket: names are paths. */
async function copyAsBucket(objects: string, target: string): Promise<void> {
  for (const entry of await readdir(path.join(objects, "vaults"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const parts = path.relative(objects, file).split(path.sep);
    const place = path.join(target, ...parts.filter((part) => !part.startsWith("=")));
    await mkdir(path.dirname(place), { recursive: true });
    await cp(file, place);
  }
}

test("kit and copy restore every byte, of every key pair; the kit of another vault, a wrong key and commands that write do not", async () => {
  const vaultId = await makeVault(service, await owner(), "Kasa");
  const [big, small] = [Buffer.alloc(3_000_000, "fatura "), "merhaba"];
  const first = await backUp(vaultId, { "klasor/a.txt": small, "buyuk.bak": big });
  assert.equal((await call("POST", `/v1/vaults/${vaultId}/rotate-keys`)).status, 200);
  const second = await backUp(vaultId, { "klasor/a.txt": "yeni", "buyuk.bak": Buffer.concat([big, big]) });
  const kit = await fetchKit(vaultId);
  const strange = await fetchKit(await makeVault(service, await owner(), "Diğer"));

  const at = (name: string) => path.join(folder, name);
  await writeFile(at("kit.json"), kit);
  await writeFile(at("other.json"), strange);
  const objects = path.join(service.dataDir, "objects");
  // Not the temporary files of uploads.
  await cp(path.join(objects, "vaults"), at("files/vaults"), { recursive: true });
  await copyAsBucket(objects, at("bucket"));
  for (const copy of ["files", "bucket"]) {
    const listed = engine("snapshots", "--repo", at(copy), "--kit", at("kit.json"), "--json");
    assert.equal(listed.status, 0, listed.stderr);
    const ids = (JSON.parse(listed.stdout) as { snapshots: { id: string }[] }).snapshots.map(({ id }) => id);
    assert.deepEqual(ids.sort(), [first, second].map((id) => id.replaceAll("-", "")).sort());
    for (const [id, text, bytes] of [
      [first, small, big],
      [second, "yeni", Buffer.concat([big, big])],
    ] as const) {
      const target = at(`${copy}-${id}`);
      const args = ["--repo", at(copy), "--kit", at("kit.json"), "--target", target, "--full"];
      const restored = engine("restore", id.replaceAll("-", ""), ...args);
      assert.equal(restored.status, 0, restored.stderr);
      assert.equal(await readFile(path.join(target, "klasor", "a.txt"), "utf8"), text);
      assert.ok(bytes.equals(await readFile(path.join(target, "buyuk.bak"))));
    }
    await assertEmanetReads(at(copy), at("kit.json"), at(`${copy}-emanet`), { first, second, small, big });
    assert.equal(engine("verify", "--full", "--repo", at(copy), "--kit", at("kit.json")).status, 0);
    const before = await filesOf(at(copy));
    assert.equal(engine("prune", "--repo", at(copy), "--kit", at("kit.json")).status, 2);
    assert.deepEqual(await filesOf(at(copy)), before);
    const other = engine("snapshots", "--repo", at(copy), "--kit", at("other.json"), "--json");
    assert.deepEqual(JSON.parse(other.stdout || "{}").snapshots ?? [], []);
  }
  const { key } = JSON.parse(strange.toString()) as { key: string };
  await writeFile(at("wrong.json"), JSON.stringify({ ...JSON.parse(kit.toString()), key }));
  const wrong = ["snapshots", "--repo", at("files"), "--kit", at("wrong.json")];
  assert.deepEqual([engine(...wrong).status, (await emanet(...wrong)).code], [1, 1]);
  assert.equal((await emanet("snapshots", "--kit", at("kit.json"))).code, 2, "without a copy");
  // It has what opens, and not what signs.
  const vault = await service.running.services?.vaults.open(env.accountId, vaultId);
  assert.ok(vault !== undefined);
  const { openRecoveryKit } = await import("../../packages/engine/src/format/recovery-kit.ts");
  const opened = JSON.parse(kit.toString()) as { kit: string; key: string };
  const keys = openRecoveryKit(Buffer.from(opened.key, "base64"), Buffer.from(opened.kit, "base64"));
  assert.deepEqual([...keys.privateSeeds.keys()], [1, 2]);
  assert.ok(!JSON.stringify(keys).includes(JSON.stringify(vault.keys.authoritySeed)));
  assert.ok(!("authoritySeed" in keys));
});

async function filesOf(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

interface Stored {
  readonly first: string;
  readonly second: string;
  readonly small: string;
  readonly big: Buffer;
}

/** The verbs of `emanet` that read. */
async function assertEmanetReads(copy: string, kit: string, target: string, { first, second, small, big }: Stored) {
  const withKit = ["--repo", copy, "--kit", kit, "--json"];
  assert.deepEqual(
    (await emanet("snapshots", ...withKit)).lines.map(({ id }) => id),
    [second, first].map((id) => id.replaceAll("-", "")),
  );
  const restored = emanetProcess("restore", first.replaceAll("-", ""), "--target", target, ...withKit);
  assert.equal(restored.status, 0, restored.stderr);
  assert.equal(await readFile(path.join(target, "klasor", "a.txt"), "utf8"), small);
  assert.ok(big.equals(await readFile(path.join(target, "buyuk.bak"))));
  const shown = await emanet("cat", "latest", "klasor/a.txt", "--repo", copy, "--kit", kit);
  assert.equal(shown.bytes.toString(), "yeni");
  for (const [verb, ...words] of [
    ["ls", "latest"],
    ["find", "a.txt"],
    ["history", "klasor/a.txt"],
    ["diff", first, second],
    ["check", "--full"],
  ] as const) {
    const ran = await emanet(verb, ...words.map((word) => word.replaceAll(/(?<=\w)-/g, "")), ...withKit);
    assert.equal(ran.code, 0, `${verb}: ${ran.stderr}`);
  }
  assert.equal((await emanet("prune", ...withKit)).code, 2, "a kit only reads");
}
