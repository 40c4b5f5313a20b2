/**
 * The office that is measured. Taxpayers, tonight's snapshots and the large folder are made through the API. The nights before are copies of
 * tonight's rows with other ids and times; audit records are written by the rules of the kernel. Making all of it by requests would take hours.
 */

import { member } from "../../packages/server/src/archives/testing.ts";
import { newTaxId } from "../../packages/server/src/taxpayers/testing.ts";
import { keptConnections, sendHttp1 } from "../../packages/server/src/testing/https.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { untilProjected } from "../api/history.ts";
import type { MeasuredSetup } from "../api/measured-setup.ts";
import { fillAudit } from "./fill-audit.ts";
import type { Scale } from "./scale.ts";

export interface FilledOffice {
  /** The snapshot with the large folder. */
  readonly snapshotId: string;
}

const places = ["Kuzeyışık", "Erguvan", "Fındıklı", "Hisarönü", "Yamaç", "Söğütlü", "Özdere", "Şirinyer", "Üçpınar"];
const trades = ["Mobilya", "Eczanesi", "Gıda", "Otomotiv", "Yazılım", "Tarım", "İnşaat"];
const software = ["Logo Tiger", "Mikro", "Netsis", "Zirve", "e-Defter"];
const nameOf = (at: number) =>
  `${places[at % places.length]} ${trades[at % trades.length]} ${String(at + 1).padStart(3, "0")}`;

const largeFolder = "Faturalar";
export const fileName = (at: number) => `fatura-${String(at).padStart(6, "0")}.xml`;
const end = Buffer.alloc(1024);
const dayMs = 86_400_000;

/** Requests that run side by side while the office is made. */
const together = 6;

export async function fillOffice(
  setup: MeasuredSetup,
  scale: Scale,
  log: (line: string) => void,
): Promise<FilledOffice> {
  const { demo } = await readFirstRun(setup.dataFolder);
  const accountId = demo.account_id;
  const people = await setup.rows<{ id: string }>("select id from emanet.people where account_id = $1", [accountId]);
  const now = new Date();
  const timed = timer(log);
  await fillAudit(setup, {
    accountId,
    actors: [
      ...people.map(({ id }) => ({ kind: "member" as const, id })),
      { kind: "client" as const, id: demo.client_id },
    ],
    ...{ records: scale.auditRecords, from: new Date(now.getTime() - 90 * dayMs), to: now },
  });
  timed(`${scale.auditRecords} audit records`);
  const send = await sender(setup);
  const numbers = Array.from({ length: scale.taxpayers }, (_, at) => at);
  const vaults = await inTurns(numbers, async (at) => {
    const json = { name: nameOf(at), tax_id: newTaxId() };
    return String((await send("POST", "/v1/taxpayers", { json })).vault_id);
  });
  timed(`${scale.taxpayers} taxpayers`);
  await inTurns(vaults, async (vault, at) => {
    const files = Array.from({ length: 3 + (at % 4) }, (_, file) =>
      member({ name: `2026/Defter ${at}/mizan-${file}.xlsx`, mtime: 1_700_000_000 }, `${vault} ${file}`.repeat(50)),
    );
    await send("POST", uploadPath(vault, at), { body: Buffer.concat([...files, end]) });
  });
  timed(`${scale.taxpayers} snapshots of tonight`);
  const files = Array.from({ length: scale.files }, (_, at) =>
    member({ name: `${largeFolder}/${fileName(at)}`, mtime: 1_700_000_000 + at }, `${at}`),
  );
  const large = await send("POST", "/v1/snapshots?source=e-Fatura", { body: Buffer.concat([...files, end]) });
  timed(`a snapshot of ${scale.files} files in one folder`);
  await setup.untilVerified();
  await untilProjected(setup);
  timed("verified, and found by search");
  await copyNights(setup, scale.nights);
  timed(`${scale.taxpayers} × ${scale.nights} nights`);
  await breakTonight(setup, vaults);
  await setup.rows("vacuum analyze");
  timed("statistics");
  return { snapshotId: String(large.id) };
}

function uploadPath(vault: string, at: number): string {
  const source = software[at % software.length] ?? "Mikro";
  return `/v1/snapshots?${new URLSearchParams({ source, vault_id: vault, trigger: "schedule" })}`;
}

function timer(log: (line: string) => void): (what: string) => void {
  let since = performance.now();
  return (what) => {
    const next = performance.now();
    log(`${what}: ${((next - since) / 1000).toFixed(1)} s`);
    since = next;
  };
}

interface Sending {
  readonly json?: object;
  /** A tar. */
  readonly body?: Buffer;
}

type Send = (method: string, path: string, sending: Sending) => Promise<Readonly<Record<string, unknown>>>;

/** A token lives for a quarter of an hour. */
const tokenAgeMs = 5 * 60_000;

/** A service that refuses a request so often is broken, not busy. */
const maxAgain = 20;
const againMs = 500;

/** The program of the office. On a busy machine filling takes longer than a token lives, and the service asks to come again. */
async function sender(setup: MeasuredSetup): Promise<Send> {
  const agent = keptConnections(setup.ca);
  let token = { auth: await setup.authorization(), since: performance.now() };
  const headersOf = async (type: string) => {
    if (performance.now() - token.since > tokenAgeMs)
      token = { auth: await setup.authorization(), since: performance.now() };
    return { ...token.auth, "content-type": type };
  };
  return async (method, path, { json, body = Buffer.from(JSON.stringify(json)) }) => {
    const type = json === undefined ? "application/x-tar" : "application/json";
    const send = async () =>
      sendHttp1(`${setup.url}${path}`, setup.ca, { method, headers: await headersOf(type), body }, agent);
    let answer = await send();
    for (let again = 0; answer.status === 503 && again < maxAgain; again++) {
      await new Promise((resolve) => setTimeout(resolve, againMs));
      answer = await send();
    }
    if (answer.status !== 201) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body.toString()) as Record<string, unknown>;
  };
}

/** Some at a time. */
async function inTurns<T, R>(items: readonly T[], work: (item: T, at: number) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const queue = items.entries();
  const one = async () => {
    for (const [at, item] of queue) results[at] = await work(item, at);
  };
  await Promise.all(Array.from({ length: together }, one));
  return results;
}

/** The nights before tonight, each the child of the one before it. Two of three changed nothing; one in 97 did not come, one in 61 failed. */
async function copyNights({ rows }: MeasuredSetup, nights: number): Promise<void> {
  await rows("update emanet.sources set expected_every_s = 90000, created_at = created_at - interval '200 days'");
  await rows(
    `with tonight as (
       select s.*, row_number() over (order by s.id) as number from emanet.snapshots s join emanet.vaults v on v.id = s.vault_id
       where s.state = 'completed' and v.kind = 'taxpayer'),
     copies as (
       select n, gen_random_uuid() as copy_id, (s.number * 7919 + n * 104729) % 97 as missing,
         (s.number * 31 + n * 17) % 61 = 0 as failed, s.*
       from tonight s cross join generate_series(1, $1::int) n),
     kept as (
       select c.*, case when n % 3 > 0 then lag(copy_id) over (partition by number order by n desc) end as copy_parent, make_interval(days => n) as ago
       from copies c where missing > 0)
     insert into emanet.snapshots
       select made.* from kept c
       cross join lateral jsonb_populate_record(null::emanet.snapshots, to_jsonb(c) || jsonb_build_object(
         'id', c.copy_id, 'expires_at', null, 'parent_id', c.copy_parent,
         'created_at', c.created_at - c.ago, 'started_at', c.started_at - c.ago,
         'completed_at', case when not c.failed then c.completed_at - c.ago end,
         'verified_at', case when not c.failed then c.verified_at - c.ago end,
         'active_at', c.active_at - c.ago)
         || case when not c.failed then '{}'::jsonb else jsonb_build_object('state', 'failed', 'failure_code', 'upload_interrupted',
           'size_bytes', null, 'file_count', null, 'warning_count', null, 'root_hash', null) end) made`,
    [nights - 1],
  );
  await rows(
    `insert into emanet.vault_usage (vault_id, day, account_id, stored_bytes, size_bytes)
       select v.id, (now() at time zone 'Europe/Istanbul')::date - n, v.account_id,
         greatest(0, v.stored_bytes - n * 1000), greatest(0, v.stored_bytes - n * 900)
       from emanet.vaults v cross join generate_series(1, $1::int) n
     on conflict (vault_id, day) do nothing`,
    [nights - 1],
  );
  // The nightly upkeep would look for the content of the copies while the screens are measured.
  await rows("update emanet.vaults set retention_applied_at = now()");
}

/** Some failed, some have not come, one runs. */
async function breakTonight({ rows }: MeasuredSetup, vaults: readonly string[]): Promise<void> {
  const tonight = "vault_id = any ($1) and created_at > now() - interval '6 hours'";
  const empty =
    "completed_at = null, verified_at = null, root_hash = null, size_bytes = null, file_count = null, warning_count = null";
  await rows(
    `update emanet.snapshots set state = 'failed', failure_code = 'upload_interrupted', ${empty} where ${tonight}`,
    [vaults.slice(0, 3)],
  );
  // Nobody sends it: without a sign of life to come the service would end it within a minute.
  const alive = "alive_at = now() + interval '1 day', active_at = now()";
  await rows(`update emanet.snapshots set state = 'running', ${empty}, ${alive} where ${tonight}`, [
    vaults.slice(3, 4),
  ]);
}
