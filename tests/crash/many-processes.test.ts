/**
 * Two API processes behind a proxy and a worker on one PostgreSQL, one bucket and one Redis. Any process serves any call: first a
 * journey, then processes are killed in turn while the bucket refuses requests and loses answers. Nothing that was
 * acknowledged may lack a byte, and in the end nothing is left over.
 *
 * `npm run test:heavy` kills 100 times. EMANET_KILL_SEED chooses other moments, EMANET_KILL_ROUNDS another number, EMANET_KILL_LOG
 * names a file for the log.
 */

// long: 35 s

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { zip } from "../../packages/server/src/archives/testing/made-zips.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import type { TestAnswer } from "../../packages/server/src/testing/https.ts";
import type { Client, ClientCall } from "../../packages/server/src/testing/main-process.ts";
import type { Skippable } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { FileSender } from "./testing/file-sender.ts";
import { nothingLeft } from "./testing/leftovers.ts";
import { findPrograms, ManyProcesses, type ProcessName, processNames } from "./testing/many-processes.ts";
import { until } from "./testing/service-under-test.ts";
import { leftWhenQuiet, passTime, UploadRounds } from "./testing/upload-rounds.ts";
import { assertWhole, Clients, kinds, Sources } from "./testing/uploads.ts";

const { EMANET_KILL_SEED = "23", EMANET_KILL_LOG } = process.env;
const kills = Number(process.env.EMANET_KILL_ROUNDS ?? scaled(2, 100));
const random = seededRandom(Number(EMANET_KILL_SEED));

const isHeavy = scaled(0, 1) === 1;
const pick = <T>(from: readonly T[]): T => from[random.integer(from.length)] ?? assert.fail("empty");

/** Bytes of the largest file that a tar, a file or an agent brings. */
const fileBytes = scaled(100_000, 700_000);
/** Beside the snapshot that comes file by file. */
const uploadsAtOnce = scaled(1, 2);
const smallFiles = scaled(6, 30);
/** Of the file that comes in parts. */
const largeBytes = scaled(300_000, 3_000_000);

/** About as long as an upload takes. */
const longestDelayMs = scaled(400, 1_500);

/** One of so many requests to the bucket fails. */
const oneFaultOf = 25;

/** Requests for the list that pass; others have no limit. */
const listLimit = 20;

const json = ({ status, body }: TestAnswer, expected: number) => {
  assert.equal(status, expected, body.toString());
  return JSON.parse(body.toString());
};

const cleanup = inReverse({ after });
let opened: ReturnType<typeof openAll> | null = null;

/** The processes, for both tests; null where a program is missing. */
async function open(t: Skippable): ReturnType<typeof openAll> {
  opened ??= openAll(t);
  const all = await opened;
  if (all === null) t.skip("a program is missing");
  return all;
}

async function openAll(t: Skippable) {
  const programs = await findPrograms(t);
  if (programs === null) return null;
  const limits = { EMANET_LIMIT_SNAPSHOTS_LIST: `${listLimit}/99999999` };
  const service = await ManyProcesses.open(cleanup, programs, random, limits);
  // A code is accepted once in half a minute.
  const owner = await service.signIn("demo");
  const clients = new Clients(cleanup, service, await temporaryFolder(cleanup), await service.registerAgent(owner));
  return { service, clients, owner };
}

describe("several processes", () => {
  test("any process serves any call of a journey", async (t) => {
    const all = await open(t);
    if (all === null) return;
    const { service, clients, owner } = all;
    const files = { "a/fatura.xml": "<fatura/>".repeat(500), "b.txt": "merhaba" };
    const post = (query: string, body: Buffer, type: string) =>
      service.send("POST", `/v1/snapshots?${query}`, { body, headers: { "content-type": type } });
    const asTar = json(await post("source=tar", tarOf(files), "application/x-tar"), 201);
    const made = zip(Object.entries(files).map(([name, content]) => ({ name, content: Buffer.from(content) })));
    const asZip = json(await post("source=zip", made, "application/zip"), 201);
    const one = json(await post("source=file&path=b.txt", Buffer.from(files["b.txt"]), "text/plain"), 201);
    const sender = await FileSender.begin(service, "files", { smallFiles: 6, largeBytes: 400_000, seed: 900 });
    await Promise.all([sender.sendSmall(), sender.sendLarge(150_000)]);
    assert.ok(sender.isSent);
    assert.equal(json((await sender.complete()) ?? assert.fail(), 200).file_count, 7);
    const agent = new Sources(random, 50_000).next("journey-agent", "agent");
    const sending = await clients.start(agent, 0);
    await sending.ended;
    const agentId = sending.acknowledged ?? assert.fail(sending.lines.join(" | "));

    const ids = [asTar.id, asZip.id, one.id, sender.id, agentId];
    assert.ok(
      service.requests.every((count) => count > 10),
      `requests of each process: ${service.requests}`,
    );
    await eachOf(service, (client) => assertReadable(service, client, asTar.id, files));
    await sender.assertWhole();
    await assertWhole(service, agentId, agent);
    await until("the worker has verified all", async () => {
      const shown = await Promise.all(ids.map((id) => service.send("GET", `/v1/snapshots/${id}`)));
      return shown.every((answer) => json(answer, 200).verified_at !== null) ? true : null;
    });
    const receipt = await service.send("GET", `/v1/snapshots/${asTar.id}/receipt`);
    assert.equal(receipt.status, 200, receipt.body.toString());
    const deleted = await service.client.send("DELETE", `/v1/snapshots/${one.id}`, { headers: owner });
    assert.equal(deleted.status, 204, deleted.body.toString());
    await assertLimitIsShared(service);
    await assertRevokedEverywhere(service, owner);
  });

  test(`${kills} kills in turn, with a bucket that fails: nothing acknowledged lacks a byte, nothing is left over`, async (t) => {
    const all = await open(t);
    if (all === null) return;
    await killInTurn(t, all).catch((error: unknown) => {
      t.diagnostic(all.service.lastLines());
      throw error;
    });
    await all.service.stop();
  });
});

async function killInTurn(
  t: TestContext,
  { service, clients }: NonNullable<Awaited<ReturnType<typeof openAll>>>,
): Promise<void> {
  const rounds = new KillRounds(service, new UploadRounds({ service, clients, random, fileBytes }));
  service.store.oneOf = oneFaultOf;
  for (let number = 0; number < kills; number++) await rounds.round(number);
  await rounds.uploads.repeatInterrupted();
  await passTime(service, isHeavy);
  await rounds.uploads.assertAllWhole();
  for (const sender of rounds.senders) await sender.assertWhole();
  service.store.oneOf = 0;
  const left = await leftWhenQuiet(service);
  const faults = Object.entries(service.store.counts).map(([name, count]) => `${name} ${count}`);
  const summary = [
    `${rounds.uploads.acknowledged.length} uploads and ${rounds.senders.length} file by file acknowledged`,
    ...faults,
  ].join(", ");
  log(summary);
  t.diagnostic(summary);
  assert.deepEqual(left, nothingLeft);
}

class KillRounds {
  readonly service: ManyProcesses;
  readonly uploads: UploadRounds;
  readonly senders: FileSender[] = [];

  constructor(service: ManyProcesses, uploads: UploadRounds) {
    this.service = service;
    this.uploads = uploads;
  }

  /** One process is killed while it receives, completes or verifies. Its clients go on, or send again. */
  async round(number: number): Promise<void> {
    const { service, uploads } = this;
    const victim: ProcessName = processNames[number % processNames.length] ?? "worker";
    const sendings = await uploads.start(
      number,
      Array.from({ length: uploadsAtOnce }, () => pick(kinds)),
    );
    const sender = await FileSender.begin(service, `files-${number % 2}`, { smallFiles, largeBytes, seed: number });
    const isSent = sendAll(sender);
    await Promise.race(sendings.map((one) => one.said(/^begun/)));
    const delayMs = random.integer(longestDelayMs);
    await delay(delayMs);
    await service.kill(victim);
    await service.ensureUp();
    // A job whose worker is lost five times is given up (kernel/jobs/crash.test.ts). Here that would be the job that takes longest.
    await service.rows("update emanet.jobs set crashes = 0 where crashes > 0");
    await isSent;
    await uploads.settle(sendings);
    await complete(sender);
    await sender.assertWhole();
    this.senders.push(sender);
    const told = sendings.map(({ upload, lines }) => `${upload.key}: ${lines.at(-1)?.slice(0, 90)}`);
    log(`${number} ${victim} +${delayMs} ${told.join(" | ")}`);
  }
}

/** Sends again what was not acknowledged, until everything is. */
async function sendAll(sender: FileSender): Promise<void> {
  while (!sender.isSent) await Promise.all([sender.sendSmall(), sender.sendLarge(Math.ceil(largeBytes / 3))]);
}

async function complete(sender: FileSender): Promise<void> {
  await until("the snapshot is completed", async () => {
    const answer = await sender.complete();
    if (answer?.status === 200) return true;
    if (answer !== null) assert.ok([202, 503].includes(answer.status), answer.body.toString());
    return null;
  });
}

/** Both API processes, each by its own address. */
async function eachOf(service: ManyProcesses, work: (client: Client) => Promise<void>): Promise<void> {
  for (const name of ["api-0", "api-1"] as const) await work(await service.direct(name));
}

async function assertReadable(
  service: ManyProcesses,
  client: Client,
  id: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const headers = await service.auth();
  const get = (target: string, call: ClientCall = {}) =>
    client.send("GET", `/v1/snapshots/${id}${target}`, { ...call, headers: { ...headers, ...call.headers } });
  const tree = json(await get("/tree"), 200);
  assert.deepEqual(
    tree.data.map(({ name }: { name: string }) => name),
    ["a", "b.txt"],
  );
  for (const [path, content] of Object.entries(files)) {
    const answer = await get(`/files/${path}`);
    assert.equal(answer.body.toString(), content);
  }
  for (const format of ["tar", "zip"]) assert.equal((await get(`/archive?format=${format}`)).status, 200);
}

/** As many requests pass as the limit allows, over both processes. */
async function assertLimitIsShared(service: ManyProcesses): Promise<void> {
  const before = [...service.requests];
  const lists = Array.from({ length: 3 * listLimit }, () => service.send("GET", "/v1/snapshots"));
  const statuses = (await Promise.all(lists)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.equal(statuses.filter((status) => status === 200).length, listLimit);
  for (const [at, count] of service.requests.entries()) assert.ok(count - (before[at] ?? 0) >= listLimit);
}

/** A session that one process ends is refused by the other one second later. */
async function assertRevokedEverywhere(
  service: ManyProcesses,
  headers: { readonly authorization: string },
): Promise<void> {
  const [one, other] = [await service.direct("api-0"), await service.direct("api-1")];
  const ask = () => other.send("GET", "/v1/me", { headers });
  json(await ask(), 200);
  assert.equal((await one.send("POST", "/v1/auth/logout", { headers })).status, 204);
  const endedAt = performance.now();
  for (;;) {
    const askedAt = performance.now();
    const { status } = await ask();
    if (status === 401) return;
    assert.equal(status, 200);
    assert.ok(askedAt - endedAt < 1000, "asked a second after the session had ended");
  }
}

function log(line: string): void {
  if (EMANET_KILL_LOG !== undefined) appendFileSync(EMANET_KILL_LOG, `${line}\n`);
}
