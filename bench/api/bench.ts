/** Service, bare server and PostgreSQL that are measured, and what was uploaded to them. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import type { SocketTarget } from "../../packages/server/src/kernel/database/target.ts";
import { startTestServer } from "../../tools/test-server.ts";
import type { Protocol } from "../requests/clients.ts";
import { startService } from "../requests/measured-service.ts";
import { type Program, parentOf, startProgram, stopProgram } from "../requests/processes.ts";
import { openTransfers, type TransferClient } from "./transfers.ts";

export type Side = "service" | "bare";

export interface Bench {
  readonly programs: Readonly<Record<Side, Program>>;
  readonly postmaster: number;
  readonly ca: string;
  readonly protocol: Protocol;
  readonly transfers: Readonly<Record<Side, TransferClient>>;
  /** For what is uploaded. */
  readonly folder: string;
  /** Where the bare server keeps its files. */
  readonly bareFolder: string;
  /** Header of a request to the service. A token lives for a quarter of an hour. */
  authorization(): Promise<{ readonly authorization: string }>;
  /** Waits for the verification in the background. */
  untilVerified(snapshotId: string): Promise<void>;
  /** Gives the bare server a copy of the snapshots' rows. */
  copyRows(): Promise<void>;
}

export interface BenchOptions {
  readonly protocol: Protocol;
  /** Folder for CPU profiles of the service. */
  readonly profile: string | undefined;
  /** Called in reverse order at the end. */
  readonly cleanups: (() => unknown)[];
}

type Connection = Parameters<Parameters<typeof withConnection>[1]>[0];

/** Short beside the verification of the smallest upload. */
const verifiedPollMs = 20;

export async function startBench({ protocol, profile, cleanups }: BenchOptions): Promise<Bench> {
  const { server, stop } = await startTestServer({ large: true });
  cleanups.push(stop);
  const database = { ...server.admin, user: server.owner, database: server.template };
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const bareFolder = path.join(folder, "bare");
  await mkdir(bareFolder);
  const data = path.join(folder, "data");
  await mkdir(data);
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const { program: service, ca, newToken } = await startService(database, data, { flags });
  cleanups.push(() => stopProgram(service));
  const bareArguments = [path.join(data, "tls"), JSON.stringify(database), bareFolder];
  const bare = await startProgram("../../packages/server/src/testing/programs/bare-file-server.ts", bareArguments);
  cleanups.push(() => stopProgram(bare));
  const open = async ({ ready }: Program) => {
    const client = await openTransfers(protocol, ready[0] ?? "", ca);
    cleanups.push(() => client.close());
    return client;
  };
  return {
    ...{ programs: { service, bare }, postmaster: await postmasterOf(database), ca, protocol, folder, bareFolder },
    transfers: { service: await open(service), bare: await open(bare) },
    authorization: async () => ({ authorization: `Bearer ${await newToken()}` }),
    untilVerified: (id) => withConnection(database, (client) => untilVerified(client, id)),
    copyRows: () => withConnection(database, copyRows),
  };
}

function postmasterOf(database: SocketTarget): Promise<number> {
  return withConnection(database, async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return parentOf(rows[0]?.pid ?? 0) ?? 0;
  });
}

async function untilVerified(client: Connection, id: string): Promise<void> {
  await client.query(`select set_config('emanet.scope', 'system', false)`);
  for (;;) {
    const text = "select verified_at is not null as verified from emanet.snapshots where id = $1";
    const { rows } = await client.query<{ verified: boolean }>(text, [id]);
    if (rows[0]?.verified === true) return;
    await delay(verifiedPollMs);
  }
}

async function copyRows(client: Connection): Promise<void> {
  await client.query(`select set_config('emanet.scope', 'system', false)`);
  await client.query(`create schema if not exists bare`);
  await client.query(`drop table if exists bare.snapshots`);
  await client.query(
    `create table bare.snapshots as select s.*, o.name as source_name, o.kind as source_kind
       from emanet.snapshots s join emanet.sources o on o.id = s.source_id`,
  );
  await client.query(`create index on bare.snapshots (created_at desc, id desc)`);
}
