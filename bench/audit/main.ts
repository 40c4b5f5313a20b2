/**
 * `npm run bench:audit`: exports of a long audit chain in each format, as a client receives them, and their verification; and what an act costs
 * that is recorded. It prints MB/s, records a second, the peak of memory over that before the export, and microseconds per act.
 *
 *   npm run bench:audit -- 1000000     records
 */

import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { hashedParts } from "../../packages/server/src/kernel/audit.ts";
import { systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { createTransactions } from "../../packages/server/src/kernel/tx.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { silentLog, testServerVariable } from "../../packages/server/src/testing/database.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";
import { startTestServer } from "../../tools/test-server.ts";

const records = Number(process.argv[2] ?? 1_000_000);
const formats = ["ndjson", "csv", "cef", "json"] as const;
/** The target of the issue. */
const targetMbPerSecond = 20;
const recordsPerInsert = 5_000;
const writers = 64;
const actsPerWriter = 200;
const mib = 1024 * 1024;

const cleanups: (() => unknown)[] = [];
const cleanup = { after: (undo: () => unknown) => void cleanups.push(undo) } as never;

try {
  const { server, stop } = await startTestServer();
  cleanups.push(stop);
  process.env[testServerVariable] = JSON.stringify(server);
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const service = await startTestService(cleanup, { settings: { EMANET_LIMIT_AUDIT_EXPORT: "1000/60" } });
  await measureActs(service);
  await measureExports(service, folder);
} finally {
  for (const undo of cleanups.reverse()) await undo();
}

async function measureActs({ database, clock }: TestService): Promise<void> {
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const signal = new AbortController().signal;
  const context = { actor: { kind: "client", id: randomUUID() }, context: { operation: "bench.act" }, signal } as const;
  const act = (accountId: string, isRecorded: boolean) =>
    transactions.run(context, { kind: "account", accountId }, async (tx) => {
      await tx.db.selectFrom("accounts").select("id").where("id", "=", accountId).execute();
      if (isRecorded)
        tx.audit({ action: "bench.acted", targets: [{ type: "note", id: accountId }], metadata: { a: 1 } });
    });
  const perActUs = async (count: number, isRecorded: boolean) => {
    const accountId = randomUUID();
    const begun = process.hrtime.bigint();
    const one = async () => {
      for (let i = 0; i < actsPerWriter; i++) await act(accountId, isRecorded);
    };
    await Promise.all(Array.from({ length: count }, one));
    return Number(process.hrtime.bigint() - begun) / 1000 / (count * actsPerWriter);
  };
  await perActUs(1, true);
  console.log("\n| writers in one account | act without a record | with one | ratio |\n|---|---|---|---|");
  for (const count of [1, writers]) {
    const [plain, recorded] = [await perActUs(count, false), await perActUs(count, true)];
    console.log(`| ${count} | ${plain.toFixed(0)} µs | ${recorded.toFixed(0)} µs | ${(recorded / plain).toFixed(2)} |`);
  }
}

/** Writes a chain as the kernel does, but many records at once. */
async function writeChain({ database }: TestService, chain: string, actorId: string): Promise<void> {
  let previous = Buffer.alloc(32);
  for (let from = 1; from <= records; from += recordsPerInsert) {
    const rows: unknown[] = [];
    for (let seq = from; seq < from + recordsPerInsert && seq <= records; seq++) {
      const record = {
        ...{ chain, id: randomUUID(), occurred_at: new Date(1.7e12 + seq * 1000).toISOString() },
        ...{
          action: "snapshot.completed",
          actor: { kind: "member" as const, id: actorId },
          outcome: "success" as const,
        },
        targets: [
          { type: "snapshot", id: randomUUID() },
          { type: "source", id: actorId },
        ],
        context: {
          request_id: randomUUID(),
          operation: "snapshots.create",
          session_id: actorId,
          address: "192.0.2.0/24",
        },
        metadata: { size_bytes: seq * 1000, trigger: "schedule" },
      } as const;
      const { before, after } = hashedParts(record);
      const hash = createHash("sha256").update(previous).update(`${before}${seq}${after}`).digest();
      const hashes = { prev_hash: `\\x${previous.toString("hex")}`, hash: `\\x${hash.toString("hex")}` };
      rows.push({ ...record, seq, account_id: chain, ...hashes });
      previous = hash;
    }
    const columns =
      "chain, account_id, seq, id, occurred_at, action, actor, targets, context, outcome, metadata, prev_hash, hash";
    await storedRows(
      database,
      `insert into emanet.audit_records (${columns})
       select ${columns} from jsonb_populate_recordset(null::emanet.audit_records, $1)`,
      [JSON.stringify(rows)],
    );
  }
  await storedRows(database, "insert into emanet.audit_heads (chain, account_id, seq, hash) values ($1, $2, $3, $4)", [
    ...[chain, chain, records, previous],
  ]);
  await storedRows(database, "analyze emanet.audit_records");
}

async function measureExports(service: TestService, folder: string): Promise<void> {
  const owner = await tokenFor(service);
  const begun = Date.now();
  await writeChain(service, owner.accountId ?? "", owner.personId ?? "");
  console.log(`\n${records} records written in ${((Date.now() - begun) / 1000).toFixed(0)} s\n`);
  const keys = path.join(folder, "keys.json");
  await writeFile(keys, (await service.send("GET", "/.well-known/emanet-keys.json")).body);
  console.log("| export | MB | MB/s | records/s | memory at its half and end, MiB more | verified | verifier MB/s |");
  console.log("|---|---|---|---|---|---|---|");
  for (const format of formats) {
    for (const encoding of format === "ndjson" ? ["identity", "gzip"] : ["identity"]) {
      const file = path.join(folder, `export.${format}`);
      const { seconds, memory } = await download(
        service,
        owner.auth,
        `/v1/audit/export?format=${format}`,
        file,
        encoding,
      );
      const mb = (await stat(file)).size / 1e6;
      const checked = await verify(file, keys);
      const name = encoding === "gzip" ? `${format}, gzip` : format;
      const rate = mb / seconds;
      const isSlow = encoding === "identity" && rate < targetMbPerSecond ? " (below the target)" : "";
      console.log(
        `| ${name} | ${mb.toFixed(0)} | ${rate.toFixed(1)}${isSlow} | ${(records / seconds).toFixed(0)} | ${memory.join(", ")} | ${checked.said} | ${(mb / checked.seconds).toFixed(1)} |`,
      );
      await rm(file);
    }
  }
}

async function download(
  { url, ca }: TestService,
  auth: { readonly authorization: string },
  target: string,
  file: string,
  encoding: string,
): Promise<{ seconds: number; memory: readonly number[] }> {
  const before = process.memoryUsage.rss();
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(process.memoryUsage.rss() - before), 100);
  const begun = process.hrtime.bigint();
  const request = https.get(`${url}${target}`, { ca, headers: { ...auth, "accept-encoding": encoding } });
  const [response] = await once(request, "response");
  if (response.statusCode !== 200) throw new Error(`the export was answered ${response.statusCode}`);
  await pipeline(response, createWriteStream(file));
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  clearInterval(timer);
  const middle = samples.slice(0, Math.ceil(samples.length / 2));
  return { seconds, memory: [middle, samples].map((of) => Math.round(Math.max(0, ...of) / mib)) };
}

async function verify(file: string, keys: string): Promise<{ seconds: number; said: string }> {
  const script = path.resolve(import.meta.dirname, "../../docs/audit/verify-audit.mjs");
  const begun = Date.now();
  const child = spawn(process.execPath, [script, file, "--keys", keys], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "exit")) as [number];
  return { seconds: (Date.now() - begun) / 1000, said: code === 0 ? "good" : `exit ${code}` };
}
