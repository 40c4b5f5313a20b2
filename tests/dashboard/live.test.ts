// long: 30 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { assertClean, type OpenedPage, openDashboard, sharedBrowser, signIn, startOffice } from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
let dashboard: OpenedPage | undefined;

/** The requests of a page so far, as method and path without the query. */
function requestsOf(page: Page): string[] {
  const seen: string[] = [];
  page.on("request", (request) => seen.push(`${request.method()} ${new URL(request.url()).pathname}`));
  return seen;
}

const waits = (page: Page) =>
  page.waitForRequest((request) => /\/v1\/events\?.*wait=/.test(request.url()), { timeout: 60_000 });

test("a backup that was made elsewhere appears in every tab by itself, and only one tab waits for events", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await office.backedUp("Çamlıbel Lokantası");
  await page.goto(service.url);
  const first = waits(page);
  await signIn(page, office);
  await page.getByRole("heading", { name: "1 mükellefin 1’i yedeklendi" }).waitFor();
  await first;
  const other = await page.context().newPage();
  await other.clock.setFixedTime(service.clock.now());
  const waited: string[] = [];
  other.on("request", (request) => request.url().includes("wait=") && waited.push(request.url()));
  await other.goto(`${service.url}/app/snapshots`);
  await other.getByText("e-Defter").first().waitFor();
  await office.backedUp("Ilıcak Elektrik");
  await page.getByRole("heading", { name: "2 mükellefin 2’si yedeklendi" }).waitFor();
  await other.getByText("Ilıcak Elektrik").first().waitFor();
  assert.deepEqual(waited, [], "the second tab hears from the first");
  // The tab that waited is gone: the other one takes its place.
  const next = waits(other);
  await page.close();
  await next;
  await office.backedUp("Şahin Nakliyat");
  await other.getByText("Şahin Nakliyat").first().waitFor();
  dashboard = { ...dashboard, page: other };
});

test("a restore is watched to its end without reading the list again and again", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(`${service.url}/app/restores`);
  await page.getByText("Bir dosyayla deneyin").waitFor();
  await waits(page);
  const requests = requestsOf(page);
  const list = await service.send("GET", "/v1/snapshots?limit=1", { headers: office.auth });
  const [snapshot] = (list.json as { data: readonly { id: string }[] }).data;
  const sent = await service.send("POST", "/v1/restore", {
    json: { snapshot_id: snapshot?.id, target: { kind: "download", format: "zip" } },
    headers: office.auth,
  });
  assert.ok(sent.status < 300, sent.body.toString());
  await page.getByText("Tamamlandı").waitFor();
  await page.getByText("Her dosya özetiyle karşılaştırıldı").waitFor();
  const lists = requests.filter((line) => line === "GET /v1/restore").length;
  assert.ok(lists <= 3, `the list was read ${lists} times: once for each of the events, and no more`);
  assertClean(dashboard, "restore");
});

test("an upload that runs shows what has arrived, and its size when it is done", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const made = await service.send("POST", "/v1/snapshots", { json: { source: "Elle" }, headers: office.auth });
  const id = String(made.json?.id);
  const headers = { ...office.auth, "content-type": "application/octet-stream" };
  const put = await service.send("PUT", `/v1/snapshots/${id}/files/a.txt`, { body: Buffer.from("içerik"), headers });
  assert.ok(put.status < 300, put.body.toString());
  await page.goto(`${service.url}/app/snapshots?status=running`);
  await page.getByText(/^\d.* geldi$/).waitFor();
  let status = "";
  while (status !== "completed") {
    const done = await service.send("POST", `/v1/snapshots/${id}/complete`, { json: {}, headers: office.auth });
    assert.ok(done.status < 300, done.body.toString());
    status = String(done.json?.status);
  }
  await page.getByText("Bu durumda yedek yok").waitFor();
  await page.getByText("Tümü").click();
  await page.getByText("Elle", { exact: true }).waitFor();
  assertClean(dashboard, "upload");
});

test("a person has a backup verified now, and the page says when it is done", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const list = await service.send("GET", "/v1/snapshots?limit=1&status=completed", { headers: office.auth });
  const [snapshot] = (list.json as { data: readonly { id: string }[] }).data;
  await page.goto(`${service.url}/app/snapshots/${snapshot?.id}`);
  await page.getByText("Doğrulandı").waitFor();
  const asked = page.waitForResponse((response) => response.url().endsWith("/verify"));
  await page.getByRole("button", { name: "Şimdi doğrula" }).click();
  assert.equal((await asked).status(), 202);
  await page.getByRole("button", { name: "Şimdi doğrula" }).waitFor();
  await page.getByText("Doğrulandı").waitFor();
  assertClean(dashboard, "verified");
});
