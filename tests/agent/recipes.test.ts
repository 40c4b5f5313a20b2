/** The recipes of docs/integrations do what they say, against a real service. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { startForAgents, writeTree } from "./testing.ts";

const world = await startForAgents({ after });
const { service, demo, caFile } = world;
const root = path.resolve(import.meta.dirname, "../..");
const recipes = path.join(root, "docs/integrations");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const env = {
    ...{ PATH: process.env.PATH, EMANET_URL: service.url, EMANET_CA_FILE: caFile },
    ...{ EMANET_CLIENT_ID: demo.client_id, EMANET_CLIENT_SECRET: demo.client_secret, ...more },
  };
  return new Promise((resolve) => {
    execFile(command, args, { env, encoding: "utf8" }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

const node = (script: string, ...args: readonly string[]) =>
  run(process.execPath, [path.join(recipes, script), ...args]);

async function countSnapshots(source: string): Promise<number> {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const { json } = await service.send("GET", `/v1/snapshots?source=${source}&status=completed&limit=100`, {
    headers: auth,
  });
  return (json?.data as readonly unknown[] | undefined)?.length ?? 0;
}

test("accounting software: one batch for the night, the same night again makes nothing twice, an unknown taxpayer is named", async (t) => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const taxpayers = ["4540536920", "10000000146"];
  for (const tax_id of taxpayers)
    await service.send("POST", "/v1/taxpayers", { json: { name: "Örnek", tax_id }, headers: auth });
  const dumps = Object.fromEntries(taxpayers.map((id) => [`${id}.bak`, `dump of ${id}`]));
  const folder = writeTree(await temporaryFolder(t), { ...dumps, "notlar.txt": "değil" });
  for (let times = 0; times < 2; times++) {
    const { code, stdout, stderr } = await node("accounting-software.mjs", folder, "2026-11-17");
    assert.deepEqual([code, stdout.split("\n").length], [0, 3], stderr);
  }
  const { json } = await service.send("GET", "/v1/taxpayers", { headers: auth });
  const listed = (json?.data ?? []) as readonly { readonly last_snapshot: { readonly status: string } | null }[];
  const states = listed.map((each) => each.last_snapshot?.status);
  assert.deepEqual(states, ["completed", "completed"]);
  writeTree(folder, { "1234567808.bak": "kimin?" });
  const third = await node("accounting-software.mjs", folder, "2026-11-18");
  assert.equal(third.code, 3, third.stderr);
  assert.match(third.stderr, /1234567808\.bak: validation_failed/);
  assert.equal((await node("accounting-software.mjs")).code, 2);
});

test("cron on a file server: the exit code of the agent, and one line of a log", async (t) => {
  const folder = writeTree(await temporaryFolder(t), { "veri/a.xml": "1", "veri/b.tmp": "2" });
  const log = path.join(folder, "emanet.log");
  const wrapper = path.join(folder, "emanet");
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexec "${process.execPath}" "${path.join(root, "packages/agent/src/main.ts")}" "$@"\n`,
  );
  chmodSync(wrapper, 0o755);
  const variables = { EMANET: wrapper, HOME: folder, FOLDER: path.join(folder, "veri"), SOURCE: "sunucu", LOG: log };
  const script = path.join(recipes, "file-server.sh");
  const { code, stderr } = await run("sh", [script], variables);
  assert.equal(code, 0, `${stderr}${existsSync(log) ? readFileSync(log, "utf8") : ""}`);
  assert.match(readFileSync(log, "utf8"), /^\S+Z exit 0 \{"type":"summary".*"file_count":1,.*\}\n$/);
  const refused = await run("sh", [script], { ...variables, EMANET_CLIENT_SECRET: "wrong" });
  assert.equal(refused.code, 4);
  assert.match(readFileSync(log, "utf8"), /exit 4/);
});

test("after an e-archive transmission: the receipt has the hash of the document, and is the same for the same document", async (t) => {
  const folder = writeTree(await temporaryFolder(t), { "2026-0001.xml": "<Invoice/>".repeat(1000) });
  const document = path.join(folder, "2026-0001.xml");
  const receipts = path.join(folder, "makbuz");
  const first = await node("e-archive.mjs", document, receipts);
  assert.equal(first.code, 0, first.stderr);
  const receipt = path.join(receipts, "2026-0001.xml.jws");
  assert.ok(existsSync(receipt) && existsSync(path.join(receipts, "keys.json")));
  const second = await node("e-archive.mjs", document, receipts);
  assert.deepEqual([second.code, second.stdout], [0, first.stdout], second.stderr);
  assert.equal(await countSnapshots("e-arsiv"), 1);
});
