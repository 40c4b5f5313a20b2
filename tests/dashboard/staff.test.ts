// long: 30 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Locator } from "playwright-core";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { staffOf } from "./others.ts";
import {
  assertClean,
  assertLooks,
  axeFindings,
  type OpenedPage,
  openDashboard,
  setLook,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
let dashboard: OpenedPage | undefined;

async function apply(company: string, email: string) {
  const sent = await service.send("POST", "/applications", {
    json: {
      ...{ kind: "company", full_name: "Deniz Kaya", email, phone: "+905321234567", company_name: company },
      ...{ tax_id: "1234567808", package: "professional", consents: { terms: true, privacy: true } },
    },
  });
  assert.ok(sent.status < 300, sent.body.toString());
}

/** Presses a button of a part of the page, and says why. */
async function decide(part: Locator, button: string, reason: string): Promise<void> {
  const page = part.page();
  await part.getByRole("button", { name: button }).click();
  const dialog = page.getByRole("dialog", { name: button });
  await dialog.getByLabel("Neden").fill(reason);
  await dialog.getByRole("button", { name: button }).click();
  await dialog.waitFor({ state: "detached" });
}

const staff = (tab?: string) => `${service.url}/app/staff${tab === undefined ? "" : `?tab=${tab}`}`;

test("staff move in the queue with J and K, approve one application and reject another, each with a reason", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  await apply("Birinci Ltd", "bir@ofis.example");
  await apply("İkinci A.Ş.", "iki@ofis.example");
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(service.url);
  await signIn(page, await staffOf(office));
  const first = page.getByRole("region", { name: "İkinci A.Ş." });
  await first.waitFor();
  assert.match(page.url(), /\/app\/staff$/);
  assert.deepEqual(await axeFindings(page), []);
  await page.keyboard.press("j");
  const second = page.getByRole("region", { name: "Birinci Ltd" });
  await second.waitFor();
  await page.keyboard.press("k");
  await first.waitFor();
  await first.getByRole("button", { name: "Onayla" }).click();
  const approve = page.getByRole("dialog", { name: "Onayla" });
  await approve.getByRole("button", { name: "Onayla" }).click();
  assert.equal(await approve.count(), 1, "without a reason nothing is sent");
  await approve.getByLabel("Neden").fill("Vergi levhası doğru");
  assert.deepEqual(await axeFindings(page), []);
  await approve.getByRole("button", { name: "Onayla" }).click();
  await first.waitFor({ state: "detached" });
  await second.getByRole("button", { name: "Reddet" }).click();
  await page.getByRole("dialog").getByLabel("Neden").fill("Aynı vergi numarası kayıtlı");
  await page.getByRole("dialog").getByRole("button", { name: "Reddet" }).click();
  await page.getByText("Bekleyen yok").waitFor();
  assertClean(dashboard, "applications");
});

test("an account is suspended, resumed and given another package and limit; the audit trail has every change", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(staff("accounts"));
  await page.getByRole("button", { name: /İkinci A\.Ş\./ }).click();
  const detail = page.getByRole("region", { name: "İkinci A.Ş." });
  await decide(detail, "Askıya al", "Ödeme yapılmadı");
  await detail.getByText("Askıda", { exact: true }).waitFor();
  await decide(detail, "Askıdan al", "Ödeme yapıldı");
  await detail.getByText("Etkin", { exact: true }).waitFor();
  await detail.getByRole("button", { name: "Paketi değiştir" }).click();
  await page.getByRole("dialog").getByLabel("Paket").selectOption({ label: "Kurumsal paket" });
  await page.getByRole("dialog").getByLabel("Neden").fill("Sözleşme");
  await page.getByRole("dialog").getByRole("button", { name: "Paketi değiştir" }).click();
  await detail.getByText("Kurumsal paket").waitFor();
  await decide(detail, "Sınır koy", "Sözleşme");
  await page.goto(staff("audit"));
  for (const action of ["account.suspended", "account.resumed", "account.package_set", "account.limit_set"])
    await page.getByText(action).first().waitFor();
  assertClean(dashboard, "accounts");
});

test("an application is taken into review; a limit is given back, early access is turned on and off", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await apply("Üçüncü Ltd", "uc@ofis.example");
  await page.goto(staff());
  const application = page.getByRole("region", { name: "Üçüncü Ltd" });
  await decide(application, "İncelemeye al", "Belgeler istendi");
  await page.getByText("İnceleniyor").waitFor();
  await application.getByRole("button", { name: "İncelemeye al" }).waitFor({ state: "detached" });
  await page.goto(staff("accounts"));
  await page.getByRole("button", { name: /İkinci A\.Ş\./ }).click();
  const detail = page.getByRole("region", { name: "İkinci A.Ş." });
  await decide(detail, "Sınırı sıfırla", "Sözleşme bitti");
  await decide(detail, "Erken erişimi aç", "Deneme");
  await decide(detail, "Erken erişimi kapat", "Deneme bitti");
  await detail.getByRole("button", { name: "Erken erişimi aç" }).waitFor();
  await page.goto(staff("audit"));
  for (const action of ["application.review_started", "account.limit_reset", "account.early_access_set"])
    await page.getByText(action).first().waitFor();
  assertClean(dashboard, "acts");
});

test("requests for limits are approved and rejected with a reason, and the account has the new limit", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const owner = await tokenFor(service, { accountId: office.accountId });
  for (const [policy, limit] of [
    ["restore_create", 77],
    ["audit_export", 88],
  ] as const) {
    const json = { policy, limit, window_s: 3600, reason: "Ay sonu" };
    const asked = await service.send("POST", "/v1/rate-limits/requests", { json, headers: owner.auth });
    assert.ok(asked.status < 300, asked.body.toString());
  }
  await page.goto(staff("requests"));
  const row = (text: string) => page.getByRole("listitem").filter({ hasText: text });
  await decide(row("77 istek"), "Onayla", "Uygun");
  await row("77 istek").getByText("Onaylandı").waitFor();
  await decide(row("88 istek"), "Reddet", "Gerekli değil");
  await row("88 istek").getByText("Reddedildi").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const limits = await service.send("GET", "/v1/rate-limits", { headers: owner.auth });
  const { data } = limits.json as { data: readonly { policy: string; limit: number }[] };
  assert.equal(data.find(({ policy }) => policy === "restore_create")?.limit, 77);
  assertClean(dashboard, "requests");
});

test("a ban is lifted with a reason", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const { auth } = await tokenFor(service, { as: "staff" });
  const json = { kind: "address", subject: "203.0.113.7", hours: 1, reason: "Deneme engeli" };
  const banned = await service.send("POST", "/v1/admin/bans", { json, headers: auth });
  assert.equal(banned.status, 201, banned.body.toString());
  await page.goto(staff("bans"));
  await page.getByRole("button", { name: "203.0.113.7: Kaldır" }).click();
  await page.getByRole("dialog").getByLabel("Neden").fill("Yanlışlıkla konmuş");
  await page.getByRole("dialog").getByRole("button", { name: "Kaldır" }).click();
  await page.getByText("Etkin engel yok").waitFor();
});

test("staff set a ban, give the right to the API, ask for a new second factor, and filter the audit trail", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const confirm = async (button: string) => {
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Neden").fill("Destek kaydı 4711");
    await dialog.getByRole("button", { name: button }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await page.goto(staff("bans"));
  await page.getByRole("button", { name: "Engel koy" }).click();
  await page.getByRole("dialog").getByLabel("Tür").selectOption("address");
  await page.getByRole("dialog").getByLabel("Kimlik ya da adres").fill("203.0.113.9");
  assert.deepEqual(await axeFindings(page), []);
  await confirm("Engel koy");
  await page.getByRole("button", { name: "203.0.113.9: Kaldır" }).click();
  await confirm("Kaldır");
  await page.getByText("Etkin engel yok").waitFor();
  await page.goto(staff("accounts"));
  await page.getByRole("button", { name: "API hakkını değiştir" }).click();
  await page.getByRole("dialog").getByLabel("API", { exact: true }).selectOption("on");
  await confirm("API hakkını değiştir");
  await page.goto(staff("members"));
  await page
    .getByRole("button", { name: /İkinci adımı sıfırla$/ })
    .first()
    .click();
  await confirm("İkinci adımı sıfırla");
  await page.goto(staff("audit"));
  await page.getByText("account.entitlement_set").first().waitFor();
  await page.getByLabel("İşlem, örneğin").fill("ban.set");
  await page.getByText("account.entitlement_set").first().waitFor({ state: "detached" });
  const shown = await page.locator(".staff-table tbody code").allInnerTexts();
  assert.ok(shown.some((text) => text.startsWith("ban.")));
  assert.ok(!shown.some((text) => text.startsWith("account.")));
  assertClean(dashboard, "acts of staff");
});

test("every section fits and is clean, both languages and themes; staff see no names of files", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await office.backedUp("Çamlıbel Lokantası", { "gizli-defter.xml": "<defter/>" });
  const shows = {
    applications: "Tümü",
    accounts: "Askıda",
    members: "İkinci adımı sıfırla",
    requests: "Onaylandı",
    bans: "Etkin engel yok",
  };
  for (const [tab, text] of Object.entries({ ...shows, jobs: "Başarısız", audit: "Zincir" })) {
    await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
    await page.goto(staff(tab));
    await assertLooks(dashboard, [
      { language: "tr", colorScheme: "light", width: 1440, shows: text },
      { language: "tr", colorScheme: "dark", width: 390, shows: text },
    ]);
    assert.doesNotMatch(await page.locator("body").innerText(), /gizli-defter|e-Defter/);
  }
  await assertLooks(dashboard, [{ language: "en", colorScheme: "dark", width: 768, shows: "Audit trail" }]);
  assertClean(dashboard, "looks");
});
