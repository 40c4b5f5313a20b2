// long: 40 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { makeBearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { codeIn, messageTo } from "../../packages/server/src/testing/sent-messages.ts";
import { openAs } from "./others.ts";
import {
  advance,
  assertClean,
  assertFits,
  axeFindings,
  confirmIdentity,
  factorAgeMs,
  forgetRefusals,
  type OpenedPage,
  openDashboard,
  setLook,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service, login } = office;
const browserFor = sharedBrowser({ after });
let dashboard: OpenedPage | undefined;

const settings = (tab?: string) => `${service.url}/app/settings${tab === undefined ? "" : `?tab=${tab}`}`;

test("the name is changed in the profile; the page shows the new one", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(service.url);
  await signIn(page, office);
  await page.getByRole("link", { name: "Ayarlar" }).first().click();
  await page.getByLabel("Ad soyad").fill("Elif Yıldız");
  await page.getByRole("button", { name: "Kaydet" }).click();
  await page.getByText("Kaydedildi").waitFor();
  await page.getByRole("button", { name: "Hesabım: Elif Yıldız" }).first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assertClean(dashboard, "profile");
});

test("new recovery codes are shown once; the authenticator is replaced by one whose code was typed", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(settings("security"));
  await page.getByRole("button", { name: "Kurtarma kodları: Yeni kodlar al" }).click();
  await page.getByRole("button", { name: "Yeni kodlar al", exact: true }).last().click();
  const codes = page.getByRole("dialog", { name: "Bu kodlar bir daha gösterilmez" });
  await codes.waitFor();
  assert.equal(await codes.locator("code").count(), 10);
  assert.deepEqual(await axeFindings(page), []);
  await codes.getByRole("button", { name: "Kapat" }).last().click();
  // The second factor is older than ten minutes: the next act asks for a code.
  await advance(page, office, factorAgeMs);
  await page.getByRole("button", { name: "Doğrulama uygulaması: Yenile" }).click();
  await confirmIdentity(page, office);
  forgetRefusals(dashboard, 403);
  const dialog = page.getByRole("dialog", { name: "Doğrulama uygulaması" });
  const secret = await dialog.locator(".secret code").innerText();
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByLabel("Yeni uygulamanın kodu").fill(codeAt(secret, service.clock.now()));
  await dialog.getByRole("button", { name: "Yenisine geç" }).click();
  await codes.waitFor();
  await codes.getByRole("button", { name: "Kapat" }).last().click();
  Object.assign(login, { totp_secret: secret });
  const other = await signInAs(service, login);
  assert.equal(other.answer.status, 200);
});

test("another session is listed and ended: its token is refused", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const other = await signInAs(service, login);
  await page.goto(settings("security"));
  await page.getByText("Bu oturum").waitFor();
  await page.getByRole("button", { name: "Diğerlerini kapat" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Diğerlerini kapat" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Diğerlerini kapat" }).waitFor({ state: "detached" });
  assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401);
  await page.getByText("Bu oturum").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assertClean(dashboard, "sessions");
});

test("one session of several is ended by its own button; this one goes on", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const other = await signInAs(service, login, { client: "api" });
  await page.goto(settings("security"));
  await page.getByRole("button", { name: "API: Kapat" }).click();
  await page.getByRole("button", { name: "API: Kapat" }).waitFor({ state: "detached" });
  assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401);
  await page.getByText("Bu oturum").waitFor();
  assertClean(dashboard, "one session");
});

test("the password is changed only with the current one; the new one signs in and the old one does not", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const next = "mavi vapur 72 iskele";
  await page.getByRole("button", { name: "Parola: Değiştir" }).click();
  const dialog = page.getByRole("dialog", { name: "Parola" });
  await dialog.getByLabel("Şimdiki parola").fill("bu değil, başka bir şey");
  await dialog.getByLabel("Yeni parola").fill(next);
  await dialog.getByRole("button", { name: "Değiştir" }).click();
  await dialog.getByText("Şimdiki parola yanlış").waitFor();
  forgetRefusals(dashboard, 401);
  forgetRefusals(dashboard, 403);
  forgetRefusals(dashboard, 422);
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByLabel("Şimdiki parola").fill(login.password);
  await dialog.getByRole("button", { name: "Değiştir" }).click();
  await page.getByText("Parola değişti. Diğer oturumlarınız kapandı.").waitFor();
  Object.assign(login, { password: next });
  assert.equal((await signInAs(service, login)).answer.status, 200);
  assertClean(dashboard, "password");
});

test("the phone is changed when the code that was sent to the new one was typed; SMS sign-in is turned off and on", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.getByRole("button", { name: "Telefon: Değiştir" }).click();
  const dialog = page.getByRole("dialog", { name: "Telefon" });
  await dialog.getByLabel("Yeni cep telefonu").fill("0533 444 55 66");
  await dialog.getByRole("button", { name: "Kod gönder" }).click();
  await dialog.getByLabel("Yeni telefona gelen kod").waitFor();
  const code = codeIn(await messageTo(service.dataDir, "+905334445566", "otp_code"));
  await dialog.getByLabel("Yeni telefona gelen kod").fill(code);
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("button", { name: "Değiştir" }).click();
  await page.getByText("Telefon değişti").waitFor();
  const row = page.locator(".row", { hasText: "SMS ile oturum açma" });
  const isOn = async () => {
    const [person] = await storedRows<{ id: string }>(
      service.database,
      "select id from emanet.people where email = $1",
      [login.email],
    );
    // No second owner: the team is counted below.
    const owner = await tokenFor(service, { accountId: office.accountId, personId: person?.id ?? "" });
    return (await service.send("GET", "/v1/account", { headers: owner.auth })).json?.sms_sign_in;
  };
  const first = await isOn();
  await row.getByRole("button").click();
  await row.getByText(first === true ? "Kapalı" : "Açık", { exact: true }).waitFor();
  assert.equal(await isOn(), first !== true);
  await row.getByRole("button").click();
  await row.getByText(first === true ? "Açık" : "Kapalı", { exact: true }).waitFor();
  assert.equal(await isOn(), first);
  assertClean(dashboard, "phone");
});

test("the account's name and the languages of messages are changed, and kept", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(settings("package"));
  await page.getByRole("textbox", { name: "Ünvan" }).fill("Yıldız Mali Müşavirlik");
  await page.getByRole("button", { name: "Kaydet" }).click();
  await page.getByText("Kaydedildi").waitFor();
  await page.locator(".account-card").getByText("Yıldız Mali Müşavirlik").waitFor();
  await page.goto(settings());
  await page.getByRole("radio", { name: "English" }).check({ force: true });
  await page.getByRole("button", { name: "Kaydet" }).click();
  await page.getByText("Kaydedildi").waitFor();
  await page.reload();
  assert.equal(await page.getByRole("radio", { name: "English" }).isChecked(), true);
  assertClean(dashboard, "account");
});

test("a member is invited with a role, changed and removed; the last owner cannot be, and the button says why", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.goto(settings("team"));
  await page.getByRole("heading", { name: "1 kişi bu hesaba erişiyor" }).waitFor();
  const last = page.getByRole("button", { name: "Elif Yıldız: Çıkar" });
  assert.match((await last.getAttribute("title")) ?? "", /Son sahip/);
  await last.click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.getByRole("button", { name: "Üye davet et" }).click();
  const invite = page.getByRole("dialog", { name: "Üye davet et" });
  await invite.getByLabel("Ad soyad").fill("Mert Aksoy");
  await invite.getByLabel("E-posta").fill("mert@ofis.example");
  await invite.getByLabel("Operatör").check();
  assert.deepEqual(await axeFindings(page), []);
  await invite.getByRole("button", { name: "Daveti gönder" }).click();
  await page.getByText("Operatör, davet edildi").waitFor();
  await page.getByRole("button", { name: "Mert Aksoy: Rolü değiştir" }).click();
  await page.getByRole("dialog").getByLabel("İzleyici").check();
  await page.getByRole("dialog").getByRole("button", { name: "Kaydet" }).click();
  await page.getByText("İzleyici, davet edildi").waitFor();
  await page.getByRole("button", { name: "Mert Aksoy: Çıkar" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Çıkar" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("Mert Aksoy").waitFor({ state: "detached" });
  assertClean(dashboard, "team");
});

test("a reset of a second factor is done at once when an owner says so: the member's sessions end", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const member = await tokenFor(service, { accountId: office.accountId, role: "operator" });
  const staff = await tokenFor(service, { as: "staff" });
  const asked = await service.send("POST", `/v1/admin/members/${member.personId}/reset-second-factor`, {
    json: { reason: "Telefonu kayboldu" },
    headers: staff.auth,
  });
  assert.equal(asked.status, 202, asked.body.toString());
  await page.goto(settings("team"));
  await page.getByRole("button", { name: "Karar ver" }).click();
  await page.getByRole("button", { name: "Şimdi sıfırla" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await service.send("GET", "/v1/me", { headers: member.auth })).status, 401);
  assertClean(dashboard, "reset");
});

test("a reset of a second factor that staff began is shown, and an owner refuses it", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const { personId } = await makeBearer(service, { accountId: office.accountId, role: "operator" });
  const staff = await tokenFor(service, { as: "staff" });
  const asked = await service.send("POST", `/v1/admin/members/${personId}/reset-second-factor`, {
    json: { reason: "Telefonu kayboldu" },
    headers: staff.auth,
  });
  assert.equal(asked.status, 202, asked.body.toString());
  await page.goto(settings("team"));
  await page.getByText(/Doğrulama sıfırlaması bekliyor/).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "Karar ver" }).click();
  await page.getByRole("button", { name: "İsteği reddet" }).click();
  await page.getByText(/Doğrulama sıfırlaması bekliyor/).waitFor({ state: "detached" });
  const again = await service.send("POST", `/v1/admin/members/${personId}/reset-second-factor`, {
    json: { reason: "Yeniden istendi" },
    headers: staff.auth,
  });
  assert.equal(again.status, 202, "the first one no longer waits");
});

test("usage names the quota and what is left of each limit; every section fits and is clean in both languages", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await office.backedUp("Çamlıbel Lokantası");
  const owner = await tokenFor(service, { accountId: office.accountId });
  const vaults = await service.send("GET", "/v1/vaults", { headers: owner.auth });
  for (const { id } of (vaults.json as { data: readonly { id: string }[] }).data) {
    const json = { quota_bytes: 1_000_000_000 };
    const set = await service.send("PATCH", `/v1/vaults/${id}`, { json, headers: owner.auth });
    assert.equal(set.status, 200, set.body.toString());
  }
  await page.goto(settings("usage"));
  await page.getByRole("heading", { name: /^2 GB kotanın/ }).waitFor();
  await page.getByText("Bütün API istekleri").waitFor();
  await page.getByText(/5 \/ 5 kaldı/).waitFor();
  const looks = [
    { language: "en", colorScheme: "light", width: 768 },
    { language: "tr", colorScheme: "dark", width: 390 },
  ] as const;
  // Each section in one of the looks; a heavy run has each in both.
  const tabs = ["profile", "security", "team", "package", "usage"];
  for (const [at, look] of looks.entries()) {
    await setLook(page, look);
    for (const tab of tabs.filter((_, place) => scaled(place % looks.length === at ? 1 : 0, 1) === 1)) {
      await page.goto(settings(tab));
      await page.locator(".settings-body .card").first().waitFor();
      await page.waitForLoadState("networkidle");
      assert.deepEqual(await axeFindings(page), [], `${tab} ${JSON.stringify(look)}`);
      await assertFits(page, look.width);
    }
  }
  assertClean(dashboard, "looks");
});

test("a viewer reads the team and changes nothing: each button says who may", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const viewer = await openAs(browser, office, { role: "viewer" });
  await viewer.page.goto(settings("team"));
  const invite = viewer.page.getByRole("button", { name: /Üye davet et/ });
  await invite.waitFor();
  assert.equal(await invite.getAttribute("title"), "Bu işlem için Yönetici rolü gerekir");
  await invite.click({ force: true });
  assert.equal(await viewer.page.getByRole("dialog").count(), 0);
  assert.deepEqual(await axeFindings(viewer.page), []);
  assertClean(viewer, "viewer");
});
