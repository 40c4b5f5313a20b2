/** Flow 4, a webhook that fails. Flow 5, the audit trail: export and share. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { listIn } from "../../../packages/server/src/testing/lists.ts";
import { factorAgeMs } from "../testing.ts";
import { type Bench, confirm, goTo, openStage, type Run, type Stage, seen } from "./stage.ts";

interface MadeWebhook {
  readonly id: string;
  readonly name: string;
  answers: number;
  readonly received: () => number;
}

/** A webhook at the real receiver, which answers as the flow says. Removed at the end: an account has ten. */
async function withWebhook(bench: Bench, name: string, work: (webhook: MadeWebhook) => Promise<void>): Promise<void> {
  const { office, program, receiver } = bench;
  const place = `/${encodeURIComponent(name)}`;
  const json = { url: receiver.url + place, events: ["*"], description: name };
  const made = await office.service.send("POST", "/v1/webhooks", { json, headers: await program.auth() });
  assert.equal(made.status, 201, made.body.toString());
  const received = () => receiver.requests.filter((request) => request.path === place).length;
  const webhook = { id: String(made.json?.id), name, answers: 503, received };
  receiver.answer = (request) => (request.path === place ? webhook.answers : 200);
  try {
    await work(webhook);
  } finally {
    const headers = { ...(await program.auth()), "if-match": "*" };
    const gone = await office.service.send("DELETE", `/v1/webhooks/${webhook.id}`, { headers });
    assert.ok(gone.status < 300, gone.body.toString());
  }
}

/** The badge leads to the banner, the attempts and their cause; one is retried, then a closed webhook is enabled and replayed. */
export async function failingWebhook(bench: Bench, run: Run): Promise<void> {
  await withWebhook(bench, `köprü ${run.language} ${run.input} ${run.theme} ${run.width}`, async (webhook) => {
    const stage = await openStage(bench, run, bench.owner, "/app/webhooks");
    const { page, hand, w, button, link } = stage;
    await hand.press(link(webhook.name));
    await page.getByRole("heading", { name: webhook.name, level: 1 }).waitFor();
    await hand.press(button(w("Deneme gönder", "Send a test")));
    const warning = page.locator(".warning").first();
    await warning.getByText(w("kapanır", "is disabled"), { exact: false }).waitFor();
    await seen(stage, "webhook failing");
    await retryOne(stage, webhook);
    await closeAndReplay(stage, webhook);
  });
}

async function retryOne(stage: Stage, webhook: MadeWebhook): Promise<void> {
  const { page, hand, w, button } = stage;
  await hand.press(button("webhook.test", page.locator(".deliveries")).first());
  const detail = page.locator(".delivery");
  await detail.getByText("503").first().waitFor();
  await detail.getByText(w("1. deneme", "Attempt 1")).waitFor();
  await detail.getByText(w("Sonraki deneme", "Next attempt"), { exact: false }).waitFor();
  await seen(stage, "webhook attempts");
  webhook.answers = 200;
  await hand.press(button(w("Yeniden dene", "Try again"), detail));
  await detail.getByText(w("Elle", "By hand"), { exact: false }).waitFor();
  await page.locator(".warning").waitFor({ state: "detached" });
}

/** The receiver says that it is gone: the webhook is closed at once, and the badge and the overview say so. */
async function closeAndReplay(stage: Stage, webhook: MadeWebhook): Promise<void> {
  const { page, hand, w, button, run } = stage;
  webhook.answers = 410;
  await hand.press(button(w("Deneme gönder", "Send a test")));
  await page.getByText(w("Webhook kapalı", "The webhook is disabled"), { exact: false }).waitFor();
  await emitEvent(stage);
  await goTo(stage, w("Genel bakış", "Overview"));
  const waiting = page.locator(".waiting li", { hasText: w("Webhook kapalı", "Webhook disabled") });
  await waiting.waitFor();
  if (run.width >= 768) await badge(page.locator(".places"), w("1 sorun", "1 problem")).waitFor();
  await seen(stage, "overview with a closed webhook");
  await hand.press(waiting.getByRole("link"));
  await page.getByRole("heading", { name: webhook.name, level: 1 }).waitFor();
  webhook.answers = 200;
  const before = webhook.received();
  await hand.press(button(w("Aç", "Enable"), page.locator(".top-actions")));
  await hand.press(button(w("O olaydan sonrasını gönder", "Send what came since then")));
  const missed = page.locator(".warning", { hasText: w("Webhook açıldı", "The webhook is enabled") });
  await missed.waitFor({ state: "detached" });
  // What came while it was closed.
  for (let waited = 0; webhook.received() === before; waited += pollMs) {
    assert.ok(waited < sentLimitMs, "nothing is sent");
    await delay(pollMs);
  }
  await seen(stage, "webhook open again");
}

const pollMs = 20;
const sentLimitMs = 60_000;

/** A backup. What is sent as a test is not sent again. */
async function emitEvent({ bench: { office, program }, number }: Stage): Promise<void> {
  const vaults = await office.service.send("GET", "/v1/vaults?limit=1", { headers: await program.auth() });
  const [vault = assert.fail("no vault")] = listIn<{ id: string }>(vaults, "data");
  await program.backUp(vault.id, { "a.txt": String(number) });
}

const badge = (places: Locator, text: string): Locator => places.locator(".badge", { hasText: text });

/** Range, format, export; then a share: made with a code, shown once, read, its reads listed, revoked. */
export async function auditTrail(bench: Bench, run: Run): Promise<void> {
  const { clock } = bench.office.service;
  clock.advance(factorAgeMs);
  const stage = await openStage(bench, run, bench.owner, "/app/audit");
  const { page, hand, w, button } = stage;
  await page.getByRole("heading", { name: w("Zincir sağlam", "Chain intact") }).waitFor();
  await hand.pick(page.getByRole("radio", { name: w("Son 30 gün", "Last 30 days") }));
  await page.waitForURL(/days=/);
  await page.locator(".audit-table code").first().waitFor();
  await seen(stage, "audit");
  await hand.pick(page.getByRole("radio", { name: "NDJSON", exact: true }));
  const left = page.getByText(w("Bugün kalan hak", "Left today"), { exact: false });
  const before = await left.innerText();
  const download = page.waitForEvent("download");
  await hand.press(button(w("NDJSON indir", "Download NDJSON")));
  const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\n");
  assert.ok(lines.length > 3 && lines.every((line) => typeof JSON.parse(line) === "object"));
  await left.filter({ hasNotText: before }).waitFor();
  await share(stage);
}

async function share(stage: Stage): Promise<void> {
  const { bench, run, page, hand, w, button } = stage;
  const { service, login } = bench.office;
  const label = `Denetçi ${run.language} ${run.input} ${run.theme} ${run.width}`;
  await hand.press(button(w("Denetçiyle paylaş", "Share with an auditor")));
  const form = page.getByRole("dialog", { name: w("Denetçiyle paylaş", "Share with an auditor") });
  await hand.type(form.getByLabel(w("Kim için, ne için", "For whom, for what")), label);
  await hand.type(form.getByLabel(w("Gün", "Days")), "90");
  await hand.choose(form.getByLabel(w("Dönem", "Period")), w("Son 30 gün", "Last 30 days"));
  await hand.choose(form.getByLabel(w("Sonuç", "Outcome")), w("Başarısız", "Failures"));
  await seen(stage, "new share");
  await hand.press(button(w("Paylaşım oluştur", "Make the share"), form));
  await confirm(stage, login);
  const shown = page.getByRole("dialog", {
    name: w("Bu anahtar bir daha gösterilmez", "This secret is shown only once"),
  });
  const token = await shown.locator("code").innerText();
  assert.match(token, /^shr_/);
  await seen(stage, "share token");
  await hand.press(button(w("Kapat", "Close"), shown).last());
  const read = await service.send("GET", "/v1/audit/shared/events?limit=1", {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(read.status, 200, read.body.toString());
  const shares = await service.send("GET", "/v1/audit/shares?limit=1", { headers: await bench.program.auth() });
  const [made] = (shares.json as { data: readonly { label: string; filter: { from?: string; outcome?: string } }[] })
    .data;
  assert.deepEqual([made?.label, made?.filter.outcome], [label, "failure"]);
  const dayMs = 86_400_000;
  const range = service.clock.now().getTime() - Date.parse(made?.filter.from ?? "");
  assert.ok(range > 29 * dayMs && range <= 30 * dayMs, `${range} ms`);
  const item = page.locator(".share", { hasText: label });
  await hand.press(button(w("Okumalar", "Reads"), item));
  await item.locator(".share-reads code").first().waitFor();
  await seen(stage, "share with reads");
  await hand.press(button(w("Geri al", "Revoke"), item));
  await hand.press(button(w("Geri al", "Revoke"), page.getByRole("dialog")));
  await item.getByText(w("Geri alındı", "Revoked")).waitFor();
  const refused = await service.send("GET", "/v1/audit/shared/events?limit=1", {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(refused.status, 410);
}
