/** The application form: open without a session, checked while it is typed, sent once. */
// long: 15 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import {
  assertClean,
  assertLooks,
  axeFindings,
  forgetRefusals,
  type OpenedPage,
  openDashboard,
  setLook,
  sharedBrowser,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const browserFor = sharedBrowser({ after });
let dashboard: OpenedPage | undefined;

const applications = () =>
  storedRows<{ kind: string; company_name: string; tax_id: string; phone: string; package: string; consents: object }>(
    office.service.database,
    "select kind, company_name, tax_id, phone, package, consents from emanet.applications",
  );

test("the sign-in page leads to the form, which is clean in both languages and themes at 1440, 768 and 390 px", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(office.service.url);
  await page.getByRole("link", { name: "Başvurun" }).click();
  await page.getByRole("heading", { name: "Hesap için başvurun" }).waitFor();
  await assertLooks(dashboard, [
    { language: "tr", colorScheme: "light", width: 1440, shows: "Hesap için başvurun" },
    { language: "en", colorScheme: "dark", width: 768, shows: "Apply for an account" },
    { language: "tr", colorScheme: "dark", width: 390, shows: "Hesap için başvurun" },
  ]);
  assertClean(dashboard, "form");
});

test("a wrong tax number and phone are said at their fields before anything is sent; consents are required", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.getByText("Şirket", { exact: true }).click();
  await page.getByLabel("Şirketin ünvanı").fill("Örnek Gıda A.Ş.");
  await page.getByLabel("Vergi numarası").fill("1234567809");
  await page.getByLabel("Adınız soyadınız").fill("Ayşe Örnek");
  await page.getByLabel("E-posta", { exact: true }).fill("ayse@ornek.example");
  await page.getByText("Vergi numarası doğru değil").waitFor();
  await page.getByLabel("Cep telefonu").fill("0212 000 00 00");
  await page.getByText("Kullanım koşullarını kabul ediyorum").click();
  await page.getByText("KVKK aydınlatma metnini okudum").click();
  await page.getByRole("button", { name: "Başvuruyu gönder" }).click();
  await page.getByText("Eksik ya da hatalı alanları düzeltin").waitFor();
  await page.getByText("Türkiye’de bir cep telefonu numarası yazın").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(await applications(), []);

  await page.getByLabel("Vergi numarası").fill("1234567808");
  await page.getByText("Kontrol basamağı doğru").waitFor();
  await page.getByLabel("Cep telefonu").fill("0532 000 00 00");
  await page.getByLabel("KVKK aydınlatma metnini okudum").uncheck();
  await page.getByRole("button", { name: "Başvuruyu gönder" }).click();
  assert.equal(
    await page.evaluate("document.activeElement?.getAttribute('type')"),
    "checkbox",
    "the consent that lacks",
  );
  assert.deepEqual(await applications(), []);
});

test("what the service refuses stands at its field, and what was typed stays", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.getByLabel("KVKK aydınlatma metnini okudum").check();
  await page.getByLabel("E-posta", { exact: true }).fill("ayse@ornek");
  await page.getByRole("button", { name: "Başvuruyu gönder" }).click();
  await page.locator("input[type=email][aria-invalid]").waitFor();
  assert.equal(await page.getByLabel("Şirketin ünvanı").inputValue(), "Örnek Gıda A.Ş.");
  forgetRefusals(dashboard, 422);
  forgetRefusals(dashboard, 400);
});

test("the application is stored as it was typed, and the page says its number and what comes next", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.getByLabel("E-posta", { exact: true }).fill("ayse@ornek.example");
  await page.getByRole("button", { name: "Başvuruyu gönder" }).click();
  await page.getByRole("heading", { name: "Başvurunuz alındı" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const [stored, ...others] = await applications();
  assert.deepEqual(others, []);
  assert.deepEqual(stored, {
    kind: "company",
    company_name: "Örnek Gıda A.Ş.",
    tax_id: "1234567808",
    phone: "+905320000000",
    package: "professional",
    consents: { terms: true, privacy: true, marketing: false },
  });
  assertClean(dashboard, "sent");
});
