/** API clients: made by a recipe with the secret shown once, held to vaults, renewed, revoked. */
// long: 20 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import {
  advance,
  assertClean,
  assertLooks,
  axeFindings,
  confirmIdentity,
  factorAgeMs,
  forgetRefusals,
  type OpenedPage,
  openDashboard,
  setLook,
  setRole,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
/** Signed in by the first test; the others go on with it. */
let dashboard: OpenedPage | undefined;

interface ListedClient {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly vault_ids: readonly string[] | null;
}

async function listed(name: string): Promise<ListedClient | undefined> {
  const { json } = await service.send("GET", "/v1/oauth-clients?limit=100", { headers: office.auth });
  return (json as { data: readonly ListedClient[] }).data.find((one) => one.name === name);
}

/** Whether the service takes this secret. */
async function isTaken(id: string, secret: string): Promise<boolean> {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: id, client_secret: secret });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return (await service.send("POST", "/oauth2/token", { body: form.toString(), headers })).status === 200;
}

async function shownSecret(page: Page): Promise<string> {
  const found = page.getByRole("dialog").locator("code", { hasText: /^ems_/ });
  await found.waitFor();
  return (await found.textContent()) ?? "";
}

test("a program is made by hand, held to one vault; its secret works and is shown only once", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  const { vault_id: vaultId } = await office.backedUp("Çamlıbel Lokantası");
  await page.goto(`${service.url}/app/clients`);
  await signIn(page, office);
  await page.getByRole("button", { name: "İstemci oluştur" }).click();
  await page.getByLabel("Ad", { exact: true }).fill("Logo gece aktarımı");
  await page.getByRole("dialog").getByRole("button", { name: "İstemci oluştur" }).click();
  await page.getByText("En az bir yetki seçin").waitFor();
  await page.getByLabel("Yedek almak").check();
  await page.getByText("Seçilen kasalar").click();
  await page.getByLabel("Çamlıbel Lokantası").check();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("dialog").getByRole("button", { name: "İstemci oluştur" }).click();
  const secret = await shownSecret(page);
  assert.deepEqual(await axeFindings(page), []);
  const made = await listed("Logo gece aktarımı");
  assert.deepEqual([made?.scopes, made?.vault_ids], [["snapshots:write"], [vaultId]]);
  assert.ok(await isTaken(made?.id ?? "", secret), "the secret works");
  await page.getByRole("button", { name: "Kapat" }).last().click();
  await page.reload();
  await page.getByText("Logo gece aktarımı").waitFor();
  assert.doesNotMatch(await page.content(), /ems_/);
  await assertLooks(dashboard, [
    { language: "tr", colorScheme: "light", width: 1440, shows: "Logo gece aktarımı" },
    { language: "en", colorScheme: "dark", width: 768, shows: "Logo gece aktarımı" },
    { language: "en", colorScheme: "light", width: 390, shows: "Logo gece aktarımı" },
  ]);
  assertClean(dashboard, "made");
});

test("a renewed secret asks for a code, and the old one ends when it was chosen to", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const id = (await listed("Logo gece aktarımı"))?.id ?? "";
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await advance(page, office, factorAgeMs);
  await page.reload();
  const row = page.getByRole("listitem").filter({ hasText: "Logo gece aktarımı" });
  await row.getByRole("button", { name: "Anahtarı yenile" }).click();
  await page.getByLabel("Eski anahtar ne zaman geçersiz olsun?").selectOption({ label: "7 gün sonra" });
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("dialog").getByRole("button", { name: "Anahtarı yenile" }).click();
  await confirmIdentity(page, office);
  const first = await shownSecret(page);
  await page.getByRole("button", { name: "Kapat" }).last().click();
  await row.getByRole("button", { name: "Anahtarı yenile" }).click();
  await page.getByLabel("Eski anahtar ne zaman geçersiz olsun?").selectOption({ label: "Hemen" });
  await page.getByRole("dialog").getByRole("button", { name: "Anahtarı yenile" }).click();
  const second = await shownSecret(page);
  assert.notEqual(first, second);
  assert.deepEqual([await isTaken(id, first), await isTaken(id, second)], [false, true]);
  await page.getByRole("button", { name: "Kapat" }).last().click();
  forgetRefusals(dashboard, 403);
  assertClean(dashboard, "renewed");
});

test("revoked programs cannot connect; without any the screen offers three recipes, and each asks for its rights only", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const revoke = page.getByRole("listitem").getByRole("button", { name: "İptal et" });
  for (let left = await revoke.count(); left > 0; left--) {
    await revoke.first().click();
    await page.getByRole("dialog").getByRole("button", { name: "İptal et" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await page.getByRole("heading", { name: "Programlarınızı bağlayın" }).waitFor();
  await assertLooks(dashboard, [
    { language: "en", colorScheme: "light", width: 390, shows: "Connect your programs" },
    { language: "tr", colorScheme: "dark", width: 1440, shows: "Programlarınızı bağlayın" },
  ]);
  // With the keyboard alone: the recipe, its form, and back.
  const recipe = page.getByRole("button", { name: /Bu tarifle başla.*Durum raporu/ });
  await recipe.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await shownSecret(page);
  await page.keyboard.press("Escape");
  await page.getByText("Hiç kullanılmadı").waitFor();
  assertClean(dashboard, "recipes");
});

test("an operator does not see the place, and its address says who may open it", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setRole(office, "operator");
  await page.reload();
  await page.getByText("Bu sayfayı açma yetkiniz yok").waitFor();
  assert.equal(await page.getByRole("link", { name: "API istemcileri" }).count(), 0);
  assert.deepEqual(await axeFindings(page), []);
  assertClean(dashboard, "operator");
});
