/**
 * An office for the screenshots: 127 taxpayers with 30 nights, one machine, a webhook whose receiver is gone. What is seen in detail is made through
 * the API; the nights before are copies of tonight's snapshots in the database.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type MadeTaxpayer, makeTaxpayer } from "../../packages/server/src/taxpayers/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { agentOf, writeTree } from "../../tests/agent/testing.ts";
import type { Office } from "../../tests/dashboard/testing.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The clock of the office begins here, and the screenshots are taken on the morning of the last night. */
export const firstMoment = "2026-11-03T00:00:00.000Z";
const lastNight = Date.parse("2026-11-15T23:14:00.000Z");
const morning = Date.parse("2026-11-16T04:00:00.000Z");

const named = [
  ...["Çamlıbel Lokantası", "Pınarlı İnşaat A.Ş.", "Sarıçam Plastik", "Gökdere Beton A.Ş.", "Karaburun Gıda A.Ş."],
  ...["Akçay Un ve Yem San. Ltd. Şti.", "Aladağ Madencilik A.Ş.", "Bozyaka Nakliyat Ltd. Şti.", "Ilıcak Elektrik"],
  ...["Cevizli Fırın – H. Demirtaş", "Çınarcık Turizm Ltd. Şti.", "Ebrulu Tekstil San. A.Ş.", "İğdeli Oto Yedek Parça"],
];
const places = [
  ...[
    "Kuzeyışık",
    "Erguvan",
    "Fındıklı",
    "Hisarönü",
    "Yamaç",
    "Dereboyu",
    "Söğütlü",
    "Taşköprü",
    "Uludere",
    "Ormancık",
  ],
  ...["Limanköy", "Nergisli", "Özdere", "Portakallı", "Rüzgârlı", "Şirinyer", "Üçpınar", "Vadi", "Zeytinli"],
];
const trades = ["Mobilya", "Eczanesi", "Gıda", "Otomotiv", "Yazılım", "Tarım"];
const allNames = [...named, ...places.flatMap((place) => trades.map((trade) => `${place} ${trade}`))].slice(0, 127);

const software = ["Logo Tiger", "Logo Go", "Mikro", "Netsis", "Zirve", "ETA SQL", "e-Defter", "Luca"];

/** Always the same, and without a pattern that the eye sees. */
const scattered = (at: number, of: number): number => (at * 7919 + 104_729) % of;

export interface FilledOffice {
  /** The last snapshot of the taxpayer whose files are shown. */
  readonly snapshotId: string;
  readonly webhookId: string;
}

export async function fillOffice(cleanup: Cleanup, office: Office): Promise<FilledOffice> {
  const { service, accountId, login } = office;
  const run = (text: string, values: readonly unknown[] = []) =>
    storedRows<{ id: string }>(service.database, text, values);
  await run("update emanet.accounts set name = 'Yıldız Mali Müşavirlik', package = 'accountant' where id = $1", [
    accountId,
  ]);
  await run("update emanet.people set full_name = 'Elif Yıldız' where email = $1", [login.email]);
  const taxpayers = await inTurns(allNames, async (name) => makeTaxpayer(service, await tokenOf(office), name));
  const books = taxpayers.find(({ name }) => name === "Karaburun Gıda A.Ş.");
  assert.ok(books);
  const webhookId = await addWebhook(office);
  let snapshotId = "";
  // Five versions of the books, on their own nights.
  for (const [version, daysBefore] of [13, 5, 3, 2, 0].entries()) {
    goTo(office, lastNight - daysBefore * dayMs);
    snapshotId = await upload(office, books, "Logo Tiger ve e-Defter", bookFiles(version));
  }
  const others = taxpayers.filter((one) => one !== books);
  await inTurns(others, (taxpayer, at) => backUpTonight(office, taxpayer, at));
  await run("update emanet.snapshots set verified_at = completed_at where state = 'completed'");
  await copyNights(office, others);
  await breakTonight(office, others);
  goTo(office, morning);
  await connectMachine(cleanup, office, books.vault_id);
  const target = { kind: "download", format: "zip" };
  const restored = await send(office, "POST", "/v1/restore", { snapshot_id: snapshotId, target });
  assert.ok(restored.status < 300, restored.body.toString());
  return { snapshotId, webhookId };
}

function goTo({ service: { clock } }: Office, moment: number): void {
  clock.advance(Math.max(0, moment - clock.now().getTime()));
}

/** One client: a source belongs to the program that sent its first snapshot. */
let clientId: string | null = null;

/** A token lives for minutes, and here nights pass. */
async function tokenOf({ service, accountId }: Office): Promise<{ authorization: string }> {
  const wanted = { as: "client", kind: "api", accountId } as const;
  const made = await tokenFor(service, { ...wanted, ...(clientId !== null && { clientId }) });
  clientId = made.clientId;
  return made.auth;
}

async function send(office: Office, method: string, target: string, json: object) {
  return office.service.send(method, target, { json, headers: await tokenOf(office) });
}

/** Some at a time. */
async function inTurns<T, R>(items: readonly T[], work: (item: T, at: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += 8) {
    results.push(...(await Promise.all(items.slice(at, at + 8).map((item, index) => work(item, at + index)))));
  }
  return results;
}

async function upload(office: Office, taxpayer: MadeTaxpayer, source: string, files: Record<string, string>) {
  const query = new URLSearchParams({ source, vault_id: taxpayer.vault_id, trigger: "schedule" });
  const headers = { ...(await tokenOf(office)), "content-type": "application/x-tar" };
  const sent = await office.service.send("POST", `/v1/snapshots?${query}`, { body: tarOf(files), headers });
  assert.equal(sent.status, 201, sent.body.toString());
  return String(sent.json?.id);
}

/** A month of e-ledgers. Later versions have more of them, and longer ones. */
function bookFiles(version: number): Record<string, string> {
  const ledger = (kind: string, lines: number) =>
    `<${kind}>${Array.from({ length: lines }, (_, at) => `<satir no="${at}">${scattered(at, 9973)}</satir>`).join("\n")}</${kind}>`;
  const month = "e-Defter/2026/10";
  const number = "1234567808-202610";
  return {
    [`${month}/${number}-Y-000000.xml`]: ledger("yevmiye", 9_000 + 400 * version),
    [`${month}/${number}-K-000000.xml`]: ledger("kebir", 11_000 + 300 * version),
    [`${month}/Mizan 2026-10.xlsx`]: ledger("mizan", 4_000 + 10 * version),
    [`${month}/KDV kontrol 2026-10.xlsx`]: ledger("kdv", 1_000),
    [`${month}/Beyanname özeti.pdf`]: ledger("ozet", 2_400),
    [`${month}/Müşteri yazışması.pdf`]: ledger("yazisma", 1_600),
    [`${month}/Amortisman listesi.xlsx`]: ledger("amortisman", 700),
    [`${month}/Ekler/sözleşme.pdf`]: ledger("ek", 300),
    ...(version > 3 && {
      [`${month}/${number}-YB-000000.xml`]: ledger("berat", 400),
      [`${month}/${number}-KB-000000.xml`]: ledger("berat", 420),
      [`${month}/GIB-${number}-YB-000000.zip`]: ledger("gib", 500),
      [`${month}/GIB-${number}-KB-000000.zip`]: ledger("gib", 510),
      [`${month}/Beratlar/imza.txt`]: "imza",
    }),
  };
}

async function backUpTonight(office: Office, taxpayer: MadeTaxpayer, at: number): Promise<void> {
  const source = software[scattered(at, software.length)] ?? "Logo Tiger";
  await upload(office, taxpayer, source, { "veri.bak": `${taxpayer.id}`.repeat(200 + scattered(at, 4_000)) });
}

/** The 29 nights before, as copies. A copy whose parent has the same content is a night without changes. */
async function copyNights({ service }: Office, taxpayers: readonly MadeTaxpayer[]): Promise<void> {
  await storedRows(
    service.database,
    `insert into emanet.snapshots
       select (jsonb_populate_record(s, jsonb_build_object(
         'id', gen_random_uuid(),
         'parent_id', case when (ascii(substr(s.id::text, 30, 1)) + n * 5) % 3 = 0 then s.id end,
         'created_at', s.created_at - make_interval(days => n), 'started_at', s.started_at - make_interval(days => n),
         'completed_at', s.completed_at - make_interval(days => n), 'verified_at', s.verified_at - make_interval(days => n),
         'active_at', s.active_at - make_interval(days => n), 'expires_at', null))).*
       from emanet.snapshots s cross join generate_series(1, 29) n
       where s.vault_id = any ($1) and s.state = 'completed'
         and (ascii(substr(s.id::text, 31, 1)) * 31 + ascii(substr(s.id::text, 33, 1)) * 17 + n * 13) % 97 > 0`,
    [taxpayers.map(({ vault_id: id }) => id)],
  );
  await storedRows(
    service.database,
    "update emanet.sources set expected_every_s = 90000, created_at = created_at - interval '40 days' where vault_id = any ($1)",
    [taxpayers.map(({ vault_id: id }) => id)],
  );
}

/** Two failed, one did not come, one runs. */
async function breakTonight(office: Office, [...taxpayers]: readonly MadeTaxpayer[]): Promise<void> {
  const find = (name: string) => taxpayers.find((one) => one.name === name)?.vault_id;
  const run = (text: string, name: string) =>
    storedRows(office.service.database, text, [find(name), new Date(lastNight - hourMs)]);
  const tonight = "where vault_id = $1 and created_at > $2";
  for (const name of ["Çamlıbel Lokantası", "Pınarlı İnşaat A.Ş."]) {
    await run(
      `update emanet.snapshots set state = 'failed', failure_code = 'upload_interrupted', failure_reason = null, completed_at = null,
         verified_at = null, root_hash = null, size_bytes = null, file_count = null, warning_count = null ${tonight}`,
      name,
    );
  }
  for (const name of ["Çamlıbel Lokantası", "Pınarlı İnşaat A.Ş.", "Sarıçam Plastik"]) {
    await run(
      "update emanet.sources set last_good_at = last_good_at - interval '1 day' where vault_id = $1 and created_at < $2",
      name,
    );
  }
  const late = ["created_at", "started_at", "completed_at", "verified_at", "active_at"].map(
    (column) => `${column} = ${column} - interval '27 hours'`,
  );
  await run(`update emanet.snapshots set ${late.join(", ")} ${tonight}`, "Sarıçam Plastik");
  await run(
    `update emanet.snapshots set state = 'running', completed_at = null, verified_at = null, root_hash = null, size_bytes = null,
       file_count = null, warning_count = null ${tonight}`,
    "Gökdere Beton A.Ş.",
  );
}

async function addWebhook(office: Office): Promise<string> {
  const made = await send(office, "POST", "/v1/webhooks", {
    ...{ url: "https://kopru.yildizmm.example/emanet", description: "Luca köprüsü", events: ["*"] },
  });
  assert.equal(made.status, 201, made.body.toString());
  return String(made.json?.id);
}

async function connectMachine(cleanup: Cleanup, office: Office, vaultId: string): Promise<void> {
  const caFile = path.join(await temporaryFolder(cleanup), "ca.pem");
  writeFileSync(caFile, office.service.ca);
  const { demo } = await readFirstRun(office.service.dataDir);
  const agent = await agentOf(cleanup, { service: office.service, demo, caFile });
  const from = writeTree(path.join(agent.folder, "ofis"), { "liste.txt": "liste" });
  await agent.json("backup", from, "--source", "Ofis belgeleri", "--vault", vaultId, "--threads", "0");
  await storedRows(
    office.service.database,
    "update emanet.agents set name = 'OFIS-SUNUCU', software_version = '0.1.0'",
  );
}
