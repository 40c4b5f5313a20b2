// The nightly backup of an accounting program: one dump per taxpayer, all of them in one batch.
//
//   node accounting-software.mjs FOLDER NIGHT
//
// FOLDER has a file <VKN>.bak for each taxpayer; NIGHT is its date, 2026-11-17. A task scheduler may repeat it: the snapshots of a night are
// made once. Exit code 0: all are stored. 1: nothing was. 3: some are, and each of the others is named.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { call } from "./client.mjs";

const [folder, night] = process.argv.slice(2);
if (folder === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(night ?? "")) {
  console.error("usage: node accounting-software.mjs FOLDER 2026-11-17");
  process.exit(2);
}

const dumps = readdirSync(folder)
  .filter((name) => /^\d{10,11}\.bak$/.test(name))
  .sort();
const items = dumps.map((name) => ({
  source: "muhasebe",
  tax_id: path.basename(name, ".bak"),
  trigger: "schedule",
  external_reference: `${night} ${name}`,
}));

// At most 300 in one call. The key makes the same snapshots of a repeated call, and tries again those that failed for a passing reason.
let failed = 0;
for (let at = 0; at < items.length; at += 300) {
  const headers = { "idempotency-key": `muhasebe-${night}-${at}` };
  const { body } = await call("POST", "/v1/snapshots/batch", { json: { items: items.slice(at, at + 300) }, headers });
  for (const { index, snapshot, problem } of JSON.parse(body).results) {
    const name = dumps[at + index];
    try {
      if (problem !== undefined) throw new Error(`${problem.code}: ${problem.detail}`);
      await store(snapshot, path.join(folder, name), name);
      console.log(`${name} ${snapshot.id}`);
    } catch (error) {
      failed++;
      console.error(`${name}: ${error.message}`);
    }
  }
}
process.exit(failed === 0 ? 0 : failed === items.length ? 1 : 3);

/** Sends the file and completes the snapshot. One that a run before has completed stays as it is. */
async function store({ id }, file, name) {
  const { body } = await call("GET", `/v1/snapshots/${id}`);
  if (JSON.parse(body).status === "completed") return;
  await call("PUT", `/v1/snapshots/${id}/files/${encodeURIComponent(name)}`, {
    body: readFileSync(file),
    headers: { "content-type": "application/octet-stream" },
  });
  for (;;) {
    const answer = await call("POST", `/v1/snapshots/${id}/complete`);
    if (JSON.parse(answer.body).status === "completed") return;
  }
}
