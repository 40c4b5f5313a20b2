/** One snapshot per taxpayer, in the taxpayer's own vault; profiles leave out what programs do not need. */

import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { rotateVaultKeys } from "@emanet/engine";
import { isTaxId, taxIdIn } from "../../packages/agent/src/taxpayers/tax-id.ts";
import { makeClient } from "../../packages/server/src/accounts/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { agentOf, startForAgents, type TestAgent, writeTree } from "./testing.ts";

const world = await startForAgents({ after });
const { service, demo } = world;
const [firm, person, unknown] = ["4540536920", "10000000146", "1234567808"];

/** Several vaults have a source e-defter. Every verb that reads is told which one is meant, and finds the file and its two versions. */
async function assertReadsIn(reader: TestAgent, vault: unknown, file: string, content: string): Promise<void> {
  const ambiguous = await reader.run(["ls", "latest", "--source", "e-defter"]);
  assert.equal(ambiguous.code, 1);
  assert.match(ambiguous.stderr, /several vaults.*--vault/);
  const inVault = ["--source", "e-defter", "--vault", String(vault)];
  const own = await reader.json("snapshots", ...inVault);
  assert.deepEqual(
    own.map((line) => line.vault_id),
    [vault, vault],
  );
  assert.equal((await reader.json("ls", "latest", "-r", ...inVault)).at(-1)?.path, file);
  assert.equal((await reader.json("history", file, ...inVault)).length, 2);
  const found = await reader.json("find", "xml", ...inVault);
  assert.deepEqual(
    found.map((line) => line.path),
    [file],
  );
  assert.equal((await reader.run(["cat", "latest", file, ...inVault])).bytes.toString(), content);
  const target = path.join(reader.folder, "geri");
  await reader.json("restore", "latest", "--target", target, "--threads", "0", ...inVault);
  assert.equal(readFileSync(path.join(target, file), "utf8"), content);
  await reader.json("check", "--threads", "0", ...inVault);
}

test("every taxpayer gets a snapshot in its own vault; one that the account does not have stops no other", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const vaults = new Map<string, unknown>();
  for (const tax_id of [firm, person]) {
    const made = await service.send("POST", "/v1/taxpayers", {
      json: { name: `Örnek ${tax_id}`, tax_id },
      headers: auth,
    });
    vaults.set(tax_id, made.json?.vault_id);
  }
  // Write-only credentials suffice.
  const { client, secret } = await makeClient(service, auth, { scopes: ["snapshots:write"] });
  const writer = await agentOf(t, world, { id: client.id, secret });
  const from = writeTree(path.join(writer.folder, "e-defter"), {
    [`Luca/${firm}/2026/01/a.xml`]: "a",
    [`Zirve/${firm} Örnek Ltd/b.xml`]: "b",
    [`Zirve/${firm} Örnek Ltd/LOG/günlük.txt`]: "x",
    [`Luca/${person}/c.xml`]: "c",
    [`Luca/${unknown}/d.xml`]: "d",
    "Luca/ortak.txt": "kimsenin",
  });
  const args = [
    "backup",
    from,
    "--source",
    "e-defter",
    "--per-taxpayer",
    "--profile",
    "zirve",
    "--threads",
    "0",
    "--json",
  ];
  const first = await writer.run(args);
  assert.equal(first.code, 3, first.stderr);
  const told = new Map(first.lines.filter(({ type }) => type === "taxpayer").map((line) => [line.tax_id, line]));
  assert.deepEqual([told.get(firm)?.file_count, told.get(person)?.file_count, told.get(unknown)?.ok], [2, 1, false]);
  assert.match(String(told.get(unknown)?.message), /no taxpayer with this number/);
  assert.deepEqual([first.last.taxpayers, first.last.failed], [3, 1]);

  appendFileSync(path.join(from, `Luca/${person}/c.xml`), "değişti");
  const second = await writer.run(args);
  assert.deepEqual([second.code, second.last.file_count], [3, 3], second.stderr);

  const reader = await agentOf(t, world);
  const snapshots = (await reader.json("snapshots")).filter((line) => line.source === "e-defter");
  assert.equal(snapshots.length, 4);
  const shown = new Map<string, readonly string[]>();
  for (const { id } of snapshots.slice(0, 2)) {
    const { json } = await service.send("GET", `/v1/snapshots/${id}`, { headers: auth });
    const files = (await reader.json("ls", String(id), "-r")).filter(({ kind }) => kind === "file");
    shown.set(
      String(json?.vault_id),
      files.map((line) => String(line.path)),
    );
  }
  assert.deepEqual(shown.get(String(vaults.get(firm))), [
    `Luca/${firm}/2026/01/a.xml`,
    `Zirve/${firm} Örnek Ltd/b.xml`,
  ]);
  assert.deepEqual(shown.get(String(vaults.get(person))), [`Luca/${person}/c.xml`]);
  await assertReadsIn(reader, vaults.get(person), `Luca/${person}/c.xml`, "cdeğişti");
  // A name that one vault alone has needs no vault.
  await reader.json("backup", from, "--source", "tek", "--vault", String(vaults.get(firm)), "--threads", "0");
  assert.equal((await reader.json("snapshots", "--source", "tek")).length, 1);
});

test("a vault that has got a new key pair is backed up with it, by taxpayers and alone", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const taxId = "1000000018";
  const json = { name: "Anahtar", tax_id: taxId };
  const made = await service.send("POST", "/v1/taxpayers", { json, headers: auth });
  const vaultId = String(made.json?.vault_id);
  const agent = await agentOf(t, world);
  const from = writeTree(path.join(agent.folder, "e-defter"), { [`Luca/${taxId}/a.xml`]: "a" });
  const args = ["backup", from, "--source", "e-defter", "--per-taxpayer", "--threads", "0", "--json"];
  const { services, secrets } = service.running;
  assert.ok(services !== null);
  const newKeys = async () => {
    const vault = await services.vaults.open(demo.account_id, vaultId);
    await rotateVaultKeys(vault, secrets.digest("vault-keys", vaultId));
    services.vaults.forget(demo.account_id, vaultId);
  };
  for (const step of [async () => undefined, newKeys]) {
    await step();
    appendFileSync(path.join(from, `Luca/${taxId}/a.xml`), "b");
    const ran = await agent.run(args);
    assert.equal(ran.code, 0, `${ran.stdout} ${ran.stderr}`);
    assert.deepEqual([ran.last.taxpayers, ran.last.failed], [1, 0]);
  }
  await newKeys();
  await agent.backUp(from, "--source", "tek başına", "--vault", vaultId);
});

test("more taxpayers than may store at the same time are all backed up", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const taxIds = ["1000000026", "1000000034", "1000000041", "1000000059", "1000000067", "1000000075"];
  for (const tax_id of taxIds)
    await service.send("POST", "/v1/taxpayers", { json: { name: `Mükellef ${tax_id}`, tax_id }, headers: auth });
  const agent = await agentOf(t, world);
  const files = Object.fromEntries(taxIds.map((taxId) => [`Luca/${taxId}/a.xml`, taxId]));
  const from = writeTree(path.join(agent.folder, "e-defter"), files);
  const args = ["backup", from, "--source", "e-defter", "--per-taxpayer", "--threads", "0", "--json"];
  const ran = await agent.run(args);
  assert.deepEqual([ran.code, ran.last.taxpayers, ran.last.failed], [0, taxIds.length, 0], ran.stderr);
});

test("a credential that may not write: exit code 4, with what to do", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const { client, secret } = await makeClient(service, auth, { scopes: ["snapshots:read"] });
  const agent = await agentOf(t, world, { id: client.id, secret });
  const from = writeTree(path.join(agent.folder, "e-defter"), { [`Luca/${firm}/a.xml`]: "a" });
  for (const more of [[], ["--per-taxpayer"]]) {
    const ran = await agent.run(["backup", from, "--source", "e-defter", "--threads", "0", ...more]);
    assert.equal(ran.code, 4, ran.stderr);
    assert.match(ran.stderr, /emanet login/);
  }
});

test("wrong usage is refused before anything is sent", async (t) => {
  const agent = await agentOf(t, world);
  const codes = async (...args: readonly string[]) => (await agent.run(["backup", ...args, "--source", "x"])).code;
  assert.equal(await codes(agent.folder, "--per-taxpayer"), 1, "no taxpayer");
  assert.equal(await codes("a", "b", "--per-taxpayer"), 2);
  assert.equal(await codes(agent.folder, "--profile", "excel"), 2);
});

test("tax numbers are told from other numbers by their check digits", () => {
  assert.ok([firm, person, unknown].every(isTaxId));
  for (const wrong of ["4444444444", "11111111111", "4540536921", "10000000147", "01000000146", "123", ""])
    assert.equal(isTaxId(wrong), false, wrong);
  assert.equal(taxIdIn(`Örnek Ltd (${firm})`), firm);
  assert.equal(taxIdIn(`${firm}0`), null);
  assert.equal(taxIdIn(`${firm} ${person}`), null);
  assert.equal(taxIdIn("2026-01-01"), null);
});
