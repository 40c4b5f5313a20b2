/**
 * `npm run bench:webhooks`: what deliveries cost, to a receiver on loopback over TLS. PostgreSQL is the embedded server with its ordinary
 * durability. It prints
 *
 * - deliveries a second of one worker beside a bare loop of undici with the same bodies and as many requests in flight, and their ratio;
 * - the lag (from the event's time to its arrival) under 1 000 events a second, p50 and p99, and the same with 1 % of the receivers
 *   hanging, and the ratio of the two p99.
 *
 *   npm run bench:webhooks -- 100000 10     deliveries of the first part, seconds of each phase of the second part
 */

import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Agent } from "undici";
import { readConfig } from "../../packages/server/src/config.ts";
import { systemClock, systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { openPools, type Pools } from "../../packages/server/src/kernel/database/pool.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/postgres/embedded.ts";
import { openLocalAuthority } from "../../packages/server/src/kernel/transport/certificates.ts";
import { createTransactions, type Transactions } from "../../packages/server/src/kernel/tx.ts";
import { snapshotEvents } from "../../packages/server/src/snapshots/index.ts";
import { type Running, start } from "../../packages/server/src/start.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { silentLog } from "../../packages/server/src/testing/database.ts";
import { sendHttp1 } from "../../packages/server/src/testing/https.ts";
import type { TestService } from "../../packages/server/src/testing/running.ts";
import { parentOf, postgresCpuMs } from "../requests/processes.ts";

const deliveries = Number(process.argv[2] ?? 100_000);
const seconds = Number(process.argv[3] ?? 10);
/** Requests in flight: one first attempt per webhook, and the places of one host. */
const concurrency = 32;
const perAccount = 8;
/** Of the first part. */
const rounds = 5;
/** Arrivals that the receiver does not measure: connections are opened and code is compiled. */
const warmUp = 1_000;
/** Of the second part: receivers with a webhook each, and events in a commit. */
const lagAccounts = 100;
const eventsPerSecond = 1_000;
const perCommit = 10;
const commitsAtOnce = 8;
const lagRounds = 5;

interface Readings {
  readonly count: number;
  readonly perSecond: number;
  readonly lags: readonly number[];
  readonly cpuMs: number;
}

const [, completed] = snapshotEvents;
if (completed === undefined) throw new Error("there is no such event");
const completedEvent = completed;
const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-webhooks-"));
const tls = path.join(folder, "tls");
const authority = await openLocalAuthority({
  ...{ folder: tls, names: [], clock: systemClock, random: systemRandom, log: silentLog },
});
authority.stop();
const receiver = fork(path.join(import.meta.dirname, "receive.ts"), [tls]);
const { port } = await answerOf<{ port: number }>(receiver);
const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
try {
  const pools = await openPools({ target: postgres.connection, log: silentLog });
  const transactions = createTransactions(pools.app, systemClock, systemRandom, silentLog);
  await throughput(pools, transactions);
  await lagWithAndWithoutHanging(pools, transactions);
  await pools.close();
} finally {
  receiver.disconnect();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once("message", (message) => resolve(message as T)));
}

type Question = "read" | "count" | "reset" | "hang" | "answer";

async function ask(question: Question): Promise<Readings> {
  const answer = answerOf<Readings>(receiver);
  receiver.send(question);
  return answer;
}

function startService(role: "api" | "worker" | "all"): Promise<Running> {
  return start({
    config: readConfig({
      ...{ EMANET_PROFILE: "sandbox", EMANET_DATA_DIR: path.join(folder, "data"), EMANET_LISTEN: "127.0.0.1:0" },
      ...{ EMANET_LOG_LEVEL: "error", EMANET_WEBHOOK_ALLOW: "127.0.0.1/32", EMANET_STORAGE: "memory:" },
      EMANET_WEBHOOK_CA_FILE: path.join(tls, "ca.pem"),
    }),
    role,
    database: postgres.connection,
  });
}

/** Makes accounts with webhooks. Returns the ids of the accounts. */
async function makeWebhooks(pools: Pools, accounts: number, each: number, pathOf: (index: number) => string) {
  const running = await startService("api");
  const service = { clock: systemClock, database: pools, tokens: running.tokens } as unknown as TestService;
  const ca = await readFile(running.caFile ?? "", "utf8");
  const ids: string[] = [];
  for (let index = 0; index < accounts; index += 1) {
    const { accountId, auth } = await tokenFor(service, { as: "client", kind: "api" });
    ids.push(accountId ?? "");
    for (let hook = 0; hook < each; hook += 1) {
      const body = JSON.stringify({ url: `https://127.0.0.1:${port}/${pathOf(index)}`, events: ["*"] });
      const headers = { ...auth, "content-type": "application/json" };
      const made = await sendHttp1(`${running.url}/v1/webhooks`, ca, { method: "POST", headers, body });
      if (made.status !== 201) throw new Error(made.body.toString());
    }
  }
  await running.stop();
  return ids;
}

async function emit(transactions: Transactions, accountId: string, count: number): Promise<void> {
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  await transactions.run(context, { kind: "account", accountId }, async (tx) => {
    for (let index = 0; index < count; index += 1) {
      tx.emit(completedEvent, { snapshot_id: randomUUID(), size_bytes: index }, { vaultId: randomUUID() });
    }
  });
}

async function removeWebhooks(pools: Pools): Promise<void> {
  const client = await pools.owner.connect();
  await client.query("select set_config('emanet.scope', 'system', false)");
  for (const table of ["webhook_deliveries", "webhook_queues", "webhook_hours", "webhook_secrets", "webhooks"]) {
    await client.query(`delete from emanet.${table}`);
  }
  client.release(true);
}

/** CPU milliseconds so far: of this process, which sends; of PostgreSQL; of the receiver. */
async function readCpu(postmaster: number) {
  const { user, system } = process.cpuUsage();
  const { cpuMs } = await ask("count");
  return { sender: (user + system) / 1000, PostgreSQL: postgresCpuMs(postmaster), receiver: cpuMs };
}

type Cpu = Awaited<ReturnType<typeof readCpu>>;

interface Measured {
  readonly perSecond: number;
  /** Microseconds per request. */
  readonly cpu: Cpu;
}

/** Measures from the end of the warm-up until the receiver has so many. */
async function measure(
  count: number,
  postmaster: number,
  work: () => Promise<() => Promise<unknown>>,
): Promise<Measured> {
  await ask("reset");
  const stop = await work();
  while ((await ask("count")).count < warmUp) await delay(5);
  const { count: first } = await ask("count");
  const before = await readCpu(postmaster);
  while ((await ask("count")).count < count) await delay(50);
  const after = await readCpu(postmaster);
  const { perSecond } = await ask("count");
  await stop();
  const each = (name: keyof Cpu) => Math.round(((after[name] - before[name]) * 1000) / (count - first));
  return { perSecond, cpu: { sender: each("sender"), PostgreSQL: each("PostgreSQL"), receiver: each("receiver") } };
}

async function throughput(pools: Pools, transactions: Transactions): Promise<void> {
  const body = JSON.stringify({
    ...{ event: "snapshot.completed", event_id: randomUUID(), sequence: 88_214, account_id: randomUUID() },
    ...{ created_at: new Date(systemClock.now()).toISOString(), snapshot_id: randomUUID(), size_bytes: 1 },
  });
  const ca = await readFile(path.join(tls, "ca.pem"), "utf8");
  const agent = new Agent({ connections: concurrency, connect: { ca } });
  const bareLoop = async (count: number) => {
    let left = count;
    const loop = async () => {
      while (left > 0) {
        left -= 1;
        const answer = await agent.request({
          ...{ origin: `https://127.0.0.1:${port}`, path: "/bare", method: "POST", body },
          headers: { "content-type": "application/json" },
        });
        await answer.body.dump();
      }
    };
    const loops = Promise.all(Array.from({ length: concurrency }, loop));
    return async () => loops;
  };
  const worker = async () => {
    const running = await startService("worker");
    return () => running.stop();
  };
  const accounts = await makeWebhooks(pools, concurrency / perAccount, perAccount, () => "hook");
  const { rows } = await pools.app.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = parentOf(rows[0]?.pid ?? 0) ?? 0;
  const events = Math.ceil(deliveries / concurrency / rounds);
  const count = events * concurrency;
  const results: { readonly bare: Measured; readonly ours: Measured }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const accountId of accounts) {
      for (let made = 0; made < events; made += 100) await emit(transactions, accountId, Math.min(100, events - made));
    }
    // One after the other, so that other work of the machine disturbs both.
    const bare = await measure(count, postmaster, () => bareLoop(count));
    results.push({ bare, ours: await measure(count, postmaster, worker) });
  }
  await agent.close();
  const median = (of: (result: (typeof results)[number]) => number) => medianOf(results.map(of));
  const shown = (name: "bare" | "ours") => {
    const cpu = (["sender", "PostgreSQL", "receiver"] as const).map(
      (of) => `${of} ${median((result) => result[name].cpu[of])}`,
    );
    return `${Math.round(median((result) => result[name].perSecond))}/s; CPU µs each: ${cpu.join(", ")}`;
  };
  print("bare loop of undici", `${shown("bare")}; ${concurrency} in flight, ${body.length} bytes`);
  print("one worker", shown("ours"));
  const ratio = median(({ ours, bare }) => ours.perSecond / bare.perSecond);
  print("ratio", `${Math.round(ratio * 100)} % (median of ${rounds} rounds)`);
  await removeWebhooks(pools);
}

/** Emits at an even rate, whether or not earlier commits are done. Returns the events per second that were reached. */
async function emitEvenly(transactions: Transactions, accounts: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const commits = new Set<Promise<void>>();
  for (let made = 0; made < eventsPerSecond * seconds; made += perCommit) {
    const dueMs = startedMs + (made / eventsPerSecond) * 1000;
    await delay(Math.max(0, dueMs - performance.now()));
    if (commits.size >= commitsAtOnce) await Promise.race(commits);
    const commit = emit(transactions, accounts[(made / perCommit) % accounts.length] ?? "", perCommit);
    commits.add(commit);
    void commit.then(() => commits.delete(commit));
  }
  await Promise.all(commits);
  return (eventsPerSecond * seconds) / ((performance.now() - startedMs) / 1000);
}

/** The first receivers hang in every second phase. Their own lag is never counted. */
async function lagWithAndWithoutHanging(pools: Pools, transactions: Transactions): Promise<void> {
  const hanging = lagAccounts / 100;
  const accounts = await makeWebhooks(pools, lagAccounts, 1, (index) => (index < hanging ? "mute" : "hook"));
  const running = await startService("worker");
  const wanted = (eventsPerSecond * seconds * (lagAccounts - hanging)) / lagAccounts;
  const phase = async (mode: "answer" | "hang") => {
    await ask(mode);
    await ask("reset");
    const rate = await emitEvenly(transactions, accounts);
    for (let waited = 0; waited < 60_000 && (await ask("count")).count < wanted; waited += 100) await delay(100);
    const { lags, count } = await ask("read");
    const sorted = lags.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
    return { p50: at(0.5), p99: at(0.99), rate, missing: wanted - count };
  };
  await phase("answer");
  const results: Record<"answer" | "hang", Awaited<ReturnType<typeof phase>>>[] = [];
  for (let round = 0; round < lagRounds; round += 1) {
    results.push({ answer: await phase("answer"), hang: await phase("hang") });
  }
  await ask("answer");
  await running.stop();
  const median = (of: (result: (typeof results)[number]) => number) => medianOf(results.map(of));
  for (const mode of ["answer", "hang"] as const) {
    const of = (name: "p50" | "p99" | "rate" | "missing") => Math.round(median((result) => result[mode][name]));
    const name = `lag, ${mode === "hang" ? hanging : 0} of ${lagAccounts} hang`;
    print(name, `p50 ${of("p50")} ms, p99 ${of("p99")} ms, ${of("rate")} events/s, ${of("missing")} missing`);
  }
  const ratio = median(({ hang, answer }) => hang.p99 / answer.p99);
  print("p99 with hanging receivers", `${ratio.toFixed(2)} of p99 without (median of ${lagRounds} rounds)`);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(28)} ${value}\n`);
}
