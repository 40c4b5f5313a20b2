/** What the tests of snapshots share: a service without limits in the way, uploads, and archives made by hand. */

import assert from "node:assert/strict";
import https from "node:https";
import { endMark, type HeaderFields, member } from "../archives/testing.ts";
import { type Clock, type Random, systemRandom } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import type { JobContext, Task } from "../kernel/jobs/index.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { createTransactions, type Transactions } from "../kernel/tx.ts";
import { type Bearer, tokenFor } from "../testing/accounts.ts";
import { type Cleanup, silentLog } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import { type Sent, startTestService, type TestService, type TestServiceOptions } from "../testing/running.ts";
import { until } from "../testing/until.ts";
import { engineId } from "./engine-id.ts";

/** The limits have tests of their own. */
const manyCalls = { EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60", EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60" };

export interface SnapshotJson {
  readonly id: string;
  readonly status: string;
  readonly source: { readonly id: string; readonly name: string };
  readonly [member: string]: unknown;
}

export interface SnapshotTest extends Awaited<ReturnType<typeof tokenFor>> {
  readonly service: TestService;
  readonly accountId: string;
  /** Sends a tar, or what is given. */
  upload(query: string, body?: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Sent>;
  /** A completed snapshot of these files. */
  completed(source: string, files: Readonly<Record<string, string>>): Promise<SnapshotJson>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Sent>;
  send(method: string, path: string, json?: unknown): Promise<Sent>;
  /** Another bearer of the same account. */
  as(wanted: Bearer): Promise<{ readonly authorization: string }>;
  rows<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** An upload of a tar whose body the test writes itself. With `Expect: 100-continue` it says when the service waits for it. */
  openUpload(query: string, headers?: Readonly<Record<string, string>>): OpenUpload;
  /** The running snapshot of a source, as soon as there is one. */
  untilRunning(source: string): Promise<{ readonly id: string }>;
  /** Whether the catalog of the default vault has the snapshot. */
  inCatalog(id: string): Promise<boolean>;
  /** Asks again until it is not null. */
  until<T>(ask: () => Promise<T | null>): Promise<T>;
}

export interface OpenUpload {
  /** 100 (Continue) has come. */
  readonly continued: Promise<void>;
  write(bytes: Uint8Array): void;
  end(bytes: Uint8Array): void;
  destroy(): void;
  readonly answer: Promise<{ readonly status: number; readonly body: Buffer }>;
}

function openUpload(service: TestService, path: string, headers: Readonly<Record<string, string>>): OpenUpload {
  const { promise: answer, resolve, reject } = Promise.withResolvers<{ status: number; body: Buffer }>();
  const outgoing = https.request(`${service.url}${path}`, { method: "POST", headers, ca: service.ca, agent: false });
  const { promise: continued, resolve: goOn } = Promise.withResolvers<void>();
  outgoing.on("continue", goOn);
  if ("expect" in headers) outgoing.flushHeaders();
  outgoing.on("error", reject);
  outgoing.on("response", (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
  });
  answer.catch(() => undefined);
  return {
    answer,
    continued,
    write: (bytes) => void outgoing.write(bytes),
    end: (bytes) => void outgoing.end(bytes),
    destroy: () => void outgoing.destroy(),
  };
}

/** A service, and a client of an account with every scope. */
export async function snapshotTest(
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = {},
  more: Pick<TestServiceOptions, "services"> = {},
): Promise<SnapshotTest> {
  const service = await startTestService(cleanup, { settings: { ...manyCalls, ...settings }, ...more });
  const made = await tokenFor(service, { as: "client", kind: "api" });
  const { accountId, auth } = made;
  assert.ok(accountId !== null);
  const test: SnapshotTest = {
    ...made,
    accountId,
    service,
    upload: (query, body = tarOf({ "a.txt": "merhaba" }), headers = {}) =>
      service.send("POST", `/v1/snapshots?${query}`, { body, headers: { ...auth, ...tarType, ...headers } }),
    async completed(source, files) {
      const answer = await test.upload(`source=${source}`, tarOf(files));
      assert.equal(answer.status, 201, answer.body.toString());
      return answer.json as SnapshotJson;
    },
    get: (path, headers = {}) => service.send("GET", path, { headers: { ...auth, ...headers } }),
    send: (method, path, json) => service.send(method, path, { headers: auth, ...(json !== undefined && { json }) }),
    as: async (wanted) => (await tokenFor(service, { accountId, ...wanted })).auth,
    rows: (text, values) => storedRows(service.database, text, values),
    openUpload: (query, headers = {}) =>
      openUpload(service, `/v1/snapshots?${query}`, { ...auth, ...tarType, ...headers }),
    untilRunning: (source) =>
      test.until(async () => {
        const [row] = await test.rows<{ id: string }>(
          `select s.id from emanet.snapshots s join emanet.sources o on o.id = s.source_id
           where o.name = $1 and s.state = 'running'`,
          [source],
        );
        return row ?? null;
      }),
    async inCatalog(id) {
      const [vault] = await test.rows<{ id: string }>("select id from emanet.vaults where account_id = $1", [
        accountId,
      ]);
      const opened = await service.running.services?.vaults.open(accountId, vault?.id ?? "");
      return (await opened?.catalog.snapshot(engineId(id))) !== null;
    },
    until,
  };
  return test;
}

const tarType = { "content-type": "application/x-tar" };

/** A tar of these files, by path. */
export function tarOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const members = Object.entries(files).map(([name, content]) => member({ name, mtime: 1_700_000_000 }, content));
  return Buffer.concat([...members, endMark]);
}

export type { HeaderFields };
export { endMark, member };

type TestPorts = ServicePorts & {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
  readonly staffEmail: string;
  readonly publicUrl: () => string;
};

/** Runs a task as a worker would; one whose clock is not that of the service, where one is given. */
export async function runTask<Payload>(
  { service }: Pick<SnapshotTest, "service">,
  task: Task<Payload, TestPorts>,
  payload: Payload,
  clock: Clock = service.clock,
): Promise<void> {
  const { services, secrets } = service.running;
  assert.ok(services !== null);
  const transactions = createTransactions(service.database.app, clock, systemRandom, silentLog, secrets);
  const context: JobContext<TestPorts> = {
    ...{ jobId: "test", attempt: 1, signal: new AbortController().signal, progress: () => undefined },
    ...{ clock, log: silentLog },
    ports: {
      ...{ services, transactions, secrets, random: systemRandom, staffEmail: "staff@emanet.invalid" },
      publicUrl: () => service.url,
    },
  };
  await task.execute(payload, context);
}

/** The events of the account, oldest first. */
export async function eventsOf(test: SnapshotTest): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows = await test.rows<{ payload: string }>(
    "select payload from emanet.events where account_id = $1 order by sequence",
    [test.accountId],
  );
  return rows.map(({ payload }) => JSON.parse(payload) as Readonly<Record<string, unknown>>);
}

/** The actions in the account's audit chain, oldest first. */
export async function auditOf(test: SnapshotTest): Promise<readonly string[]> {
  const rows = await test.rows<{ action: string; actor: { kind: string } }>(
    "select action, actor from emanet.audit_records where account_id = $1 order by seq",
    [test.accountId],
  );
  return rows.map(({ action, actor }) => `${action} by ${actor.kind}`);
}
