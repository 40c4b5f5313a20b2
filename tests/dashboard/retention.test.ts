// long: 30 s

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import type { Route } from "playwright-core";
import { openAs, programOf } from "./others.ts";
import {
  assertClean,
  assertLooks,
  axeFindings,
  type OpenedPage,
  openDashboard,
  setAccountState,
  setLook,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const program = programOf(office);
const browserFor = sharedBrowser({ after });
const dayMs = 86_400_000;
let dashboard: OpenedPage | undefined;
let vaultId = "";

test("a trial of the rules says exactly how many bytes they free, and changes nothing", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  ({ vault_id: vaultId } = await office.backedUp("Çamlıbel Lokantası"));
  for (const content of ["bir", "iki", "üç", "dört"]) {
    service.clock.advance(20 * dayMs);
    await program.backUp(vaultId, { "a.txt": content.repeat(7000), "b.txt": content });
  }
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(service.url);
  await signIn(page, office);
  await page.getByRole("link", { name: "Saklama ve doğrulama" }).first().click();
  await page.getByLabel("Kasa", { exact: true }).selectOption({ label: "Çamlıbel Lokantası" });
  await page.getByText("Kural yok: her yedek saklanır").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByLabel("Son yedek sayısı").fill("1");
  await page.getByRole("button", { name: "Dene" }).click();
  const result = page.locator(".simulated");
  await result.waitFor();
  const simulated = await service.send("POST", "/v1/retention/simulate", {
    json: { vault_id: vaultId, policy: { keep_last: 1 } },
    headers: await program.auth(),
  });
  const { removed, kept, freed_bytes: freed } = simulated.json as Record<string, number>;
  assert.ok((removed ?? 0) > 0 && (freed ?? 0) > 0, simulated.body.toString());
  const text = await result.innerText();
  assert.match(text, new RegExp(`${removed} yedek silinir, ${kept} yedek kalır`));
  assert.match(text, new RegExp(`tam ${new Intl.NumberFormat("tr-TR").format(freed ?? 0)} bayt`));
  const policy = await service.send("GET", `/v1/vaults/${vaultId}/retention`, { headers: await program.auth() });
  assert.equal(policy.json?.keep_last, null);
  assertClean(dashboard, "trial");
});

test("rules that could remove something wait 72 hours; an owner cancels them and nothing has changed", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.getByRole("button", { name: "Kuralları kaydet" }).click();
  await page.getByText("Saklama kuralları değişecek").waitFor();
  await page.getByText(/Bekleyen değişiklik .* geçerli olur/).waitFor();
  await page.getByText(/72 saat bekler; bir sahip vazgeçebilir/).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "Saklama kuralları değişecek: Vazgeç" }).click();
  await page.getByText("Vazgeçildi. Hiçbir şey silinmedi.").waitFor();
  await page.getByText("Bekleyen işlem yok").waitFor();
  const policy = await service.send("GET", `/v1/vaults/${vaultId}/retention`, { headers: await program.auth() });
  assert.deepEqual([policy.json?.keep_last, policy.json?.pending], [null, null]);
});

test("another filter of the audit trail shows at once what was read of it already, and nothing else", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const wrong = { email: office.login.email, password: "yanlış bir parola", totp_code: "000000" };
  await service.send("POST", "/v1/auth/login", { json: wrong });
  await page.goto(`${service.url}/app/audit?days=90`);
  const rows = page.locator(".audit-table tbody tr[data-index]");
  const failures = rows.filter({ hasText: "Başarısız" });
  await failures.first().waitFor();
  const all = await rows.count();
  const events = /\/v1\/audit\/events\?/;
  const segment = (name: string) => page.locator(".audit-filters label.segment", { hasText: name });
  const shownBeforeAndAfter = async (name: string) => {
    const held = Promise.withResolvers<Route>();
    await page.route(events, held.resolve, { times: 1 });
    await segment(name).click();
    const request = await held.promise;
    await rows.first().waitFor();
    const before = await rows.allInnerTexts();
    const answered = page.waitForResponse(events);
    await request.continue();
    await (await answered).finished();
    return { before, after: await rows.allInnerTexts() };
  };
  const week = await shownBeforeAndAfter("Son 7 gün");
  assert.ok(week.before.length > 0 && week.before.length < all, `${week.before.length} of ${all}`);
  assert.deepEqual(week.after, week.before);
  const failed = await shownBeforeAndAfter("Başarısız");
  assert.deepEqual([failed.before.length, failed.after], [1, failed.before]);
  // What was read of failures is not the beginning of all records.
  await page.goto(`${service.url}/app/audit?outcome=failure`);
  await failures.first().waitFor();
  const held = Promise.withResolvers<Route>();
  await page.route(events, held.resolve, { times: 1 });
  await segment("Tümü").click();
  const request = await held.promise;
  await page.locator(".audit-records .skeleton").first().waitFor();
  assert.equal(await rows.count(), 0);
  await request.continue();
  await rows.first().waitFor();
  assert.deepEqual(await rows.allInnerTexts(), week.after);
});

test("an owner exports the data of the account and closes it; the closing waits, and is canceled here", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(`${service.url}/app/settings?tab=package`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Dışa aktar" }).click(),
  ]);
  assert.match(await readFile(await download.path(), "utf8"), /Çamlıbel Lokantası/);
  await page.getByRole("button", { name: "Hesabı kapat" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Hesabı kapat" }).click();
  await page.getByText(/Hesap 72 saat sonra kapanacak/).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.goto(`${service.url}/app/retention?vault=${vaultId}`);
  await page.getByRole("button", { name: "Hesap kapanacak: Vazgeç" }).click();
  await page.getByText("Hesap kapanacak").waitFor({ state: "detached" });
});

test("a backup is held with a reason and locked until a day; ending the hold waits", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page
    .getByRole("button", { name: /: Beklet$/ })
    .first()
    .click();
  const hold = page.getByRole("dialog", { name: "Yedeği beklet" });
  await hold.getByLabel("Neden").fill("Dava 2026/14");
  assert.deepEqual(await axeFindings(page), []);
  await hold.getByRole("button", { name: "Beklet" }).click();
  await page.getByText("Bekletiliyor: Dava 2026/14").waitFor();
  await page
    .getByRole("button", { name: /: Kilitle$/ })
    .last()
    .click();
  const lock = page.getByRole("dialog", { name: "Yedeği kilitle" });
  await lock.getByLabel("Kilidin bittiği gün").fill("2036-12-31");
  await lock.getByRole("button", { name: "Kilitle" }).click();
  await page.getByText("31.12.2036 tarihine dek kilitli, silinemez").waitFor();
  await page.getByRole("button", { name: /: Bekletmeyi kaldır$/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Bekletmeyi kaldır" }).click();
  await page.getByText("Bekletme kalkacak").waitFor();
  assertClean(dashboard, "holds");
});

test("the screen fits and is clean, both languages and themes; a viewer reads it and changes nothing", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined || dashboard === undefined) return;
  await assertLooks(dashboard, [
    { language: "tr", colorScheme: "light", width: 1440, shows: "Saklama kuralları" },
    { language: "en", colorScheme: "dark", width: 768, shows: "Retention rules" },
    { language: "tr", colorScheme: "dark", width: 390, shows: "Saklama kuralları" },
  ]);
  assertClean(dashboard, "looks");
  const viewer = await openAs(browser, office, { role: "viewer" });
  await viewer.page.goto(`${service.url}/app/retention?vault=${vaultId}`);
  const save = viewer.page.getByRole("button", { name: /Kuralları kaydet/ });
  await save.waitFor();
  assert.equal(await save.getAttribute("title"), "Bu işlem için Yönetici rolü gerekir");
  const hold = viewer.page.getByRole("button", { name: /Beklet/ }).first();
  await hold.waitFor();
  assert.equal(await hold.getAttribute("title"), "Bu işlem için Sahip rolü gerekir");
  assertClean(viewer, "viewer");
});

test("suspended: writing is off and says why; a part that fails keeps its place, with the code for support", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await setAccountState(office, "suspended");
  await page.goto(`${service.url}/app/retention?vault=${vaultId}`);
  const save = page.getByRole("button", { name: /Kuralları kaydet/ });
  await save.waitFor();
  assert.equal(await save.getAttribute("title"), "Hesap askıdayken yapılamaz");
  assert.equal(
    await page
      .getByRole("button", { name: /: Kilitle/ })
      .first()
      .getAttribute("title"),
    null,
  );
  await setAccountState(office, "active");
  await page.route("**/v1/pending-acts*", (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      body: JSON.stringify({
        ...{ type: "about:blank", title: "İç hata", status: 500, detail: "Yeniden deneyin.", code: "internal_error" },
        ...{ instance: "urn:x", request_id: "01a1-destek", errors: [] },
      }),
    }),
  );
  await page.reload();
  await page.getByText("01a1-destek").waitFor();
  await page.getByRole("heading", { name: "Saklama kuralları" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.unroute("**/v1/pending-acts*");
  await page.getByRole("button", { name: "Yeniden dene" }).click();
  await page.getByText("Bekletme kalkacak").waitFor();
});
