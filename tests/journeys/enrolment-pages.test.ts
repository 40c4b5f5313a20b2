// long: 15 s

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import decodeQR from "qr/decode.js";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { openPage, sharedBrowser } from "../../packages/server/src/testing/browser.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { codeIn, messageTo } from "../../packages/server/src/testing/sent-messages.ts";

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "100/60" };
const service = await startTestService({ after }, { settings });
const { staff } = await readFirstRun(service.dataDir);
const browserFor = sharedBrowser({ after });
const password = "sarı bisiklet seksen köprü";

/** The texts of the pages in each language. */
const languages = [
  {
    locale: "tr-TR",
    words: {
      setUp: "Erişiminizi kurun",
      send: "Kodu gönder",
      finish: "Tamamla",
      wrong: "Bu kod yanlış",
      codes: "Kurtarma kodlarınız",
      save: "Dosya olarak kaydet",
      goOn: "Sakladım: oturum aç",
      signIn: "Oturum aç",
      done: "Oturumunuz açıldı",
      next: "Devam",
      setPassword: "Parolayı kaydet",
      withdraw: "Geri çek",
    },
  },
  {
    locale: "en-GB",
    words: {
      setUp: "Set up your access",
      send: "Send the code",
      finish: "Finish",
      wrong: "This code is wrong",
      codes: "Your recovery codes",
      save: "Save as a file",
      goOn: "I have saved the codes: sign in",
      signIn: "Sign in",
      done: "You are signed in",
      next: "Continue",
      setPassword: "Set the password",
      withdraw: "Withdraw",
    },
  },
] as const;
type Words = Readonly<Record<keyof (typeof languages)[number]["words"], string>>;

async function apply(email: string, phone: string): Promise<string> {
  const json = {
    ...{ kind: "accounting_office", full_name: "Ayşe Örnek", email, phone, company_name: "Örnek Büro" },
    ...{ tax_id: "1234567808", package: "accountant", consents: { terms: true, privacy: true } },
  };
  return String((await service.send("POST", "/applications", { json })).json?.id);
}

async function approved(email: string, phone: string): Promise<string> {
  const id = await apply(email, phone);
  const { auth } = await signInAs(service, staff);
  const json = { reason: "belgeler tamam" };
  assert.equal(
    (await service.send("POST", `/v1/admin/applications/${id}/approve`, { json, headers: auth })).status,
    200,
  );
  return linkIn((await messageTo(service.dataDir, email, "enrolment")).text);
}

/** The link in the mail. */
function linkIn(text: string): string {
  return /https:\/\/\S+#\S+/.exec(text)?.[0] ?? assert.fail(`no link in ${text}`);
}

/** Draws the picture and reads its pixels. It is a string, because the type checker has no browser types. */
const readPixels = `(() => {
  const image = document.querySelector("img.qr");
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const drawing = canvas.getContext("2d");
  drawing.drawImage(image, 0, 0);
  const { width, height } = canvas;
  return { width, height, data: [...drawing.getImageData(0, 0, width, height).data] };
})()`;

/** Decodes the QR code on the page and returns the secret. */
async function scanned(page: Page): Promise<string> {
  const picture = await page.evaluate<{ width: number; height: number; data: number[] }>(readPixels);
  const uri = decodeQR({ ...picture, data: Uint8Array.from(picture.data) });
  return new URL(uri).searchParams.get("secret") ?? assert.fail(`no secret in ${uri}`);
}

/** Records URLs and headers of all requests, without bodies and cookies, which may contain the secret. */
function watch(page: Page): string[] {
  const seen: string[] = [];
  page.on("request", (request) => {
    const { cookie: _cookie, ...headers } = request.headers();
    seen.push(JSON.stringify([request.url().split("#")[0], headers]));
  });
  return seen;
}

/** Goes from the phone page to the recovery codes. Returns the codes and the authenticator's secret. */
async function setUp(page: Page, words: Words, phone: string, secretOf: (page: Page) => Promise<string>) {
  await page.getByRole("button", { name: words.send }).click();
  const sms = codeIn(await messageTo(service.dataDir, phone, "otp_code"));
  await page.getByRole("heading", { name: words.setUp }).waitFor();
  const secret = await secretOf(page);
  const fill = async (totp: string) => {
    await page.locator('input[name="password"]').fill(password);
    await page.locator('input[name="totp_code"]').fill(totp);
    await page.locator('input[name="phone_code"]').fill(sms);
    await page.getByRole("button", { name: words.finish }).click();
  };
  await fill("000000");
  await page.getByRole("alert").filter({ hasText: words.wrong }).waitFor();
  await fill(codeAt(secret, service.clock.now()));
  await page.getByRole("heading", { name: words.codes }).waitFor();
  return { secret, codes: await page.locator("ul.codes li").allInnerTexts() };
}

async function signInOn(page: Page, words: Words, email: string, secret: string): Promise<void> {
  service.clock.advance(30_000);
  await page.locator('input[name="email"]').fill(email);
  await page.locator('input[name="password"]').fill(password);
  await page.locator('input[name="totp_code"]').fill(codeAt(secret, service.clock.now()));
  await page.getByRole("button", { name: words.signIn }).click();
  await page.getByRole("heading", { name: words.done }).waitFor();
}

describe("a new member with a browser", () => {
  for (const [at, { locale, words }] of languages.entries()) {
    test(`gets from the mail to the first sign-in (${locale}), and the secret of the link does not leak`, async (t) => {
      const browser = await browserFor(t);
      if (browser === undefined) return;
      const email = `yeni-${at}@buro.example`;
      const phone = `+90532333000${at}`;
      const link = await approved(email, phone);
      const token = link.split("#")[1] ?? "";
      const { page, misdeeds } = await openPage(browser, service.url, { locale });
      const sent = watch(page);

      await page.goto(link);
      await page.waitForURL(`${service.url}/enrol/phone`);
      const { secret, codes } = await setUp(page, words, phone, scanned);
      assert.equal(new Set(codes).size, 10);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: words.save }).click(),
      ]);
      const saved = await readFile(await download.path(), "utf8");
      for (const code of codes) assert.ok(saved.includes(code));
      await page.getByRole("link", { name: words.goOn }).click();
      await signInOn(page, words, email, secret);
      const cookies = (await page.context().cookies()).map(({ name }) => name).sort();
      assert.deepEqual(cookies, ["__Host-device", "__Host-refresh"]);

      assert.deepEqual(misdeeds, { complaints: [], foreign: [], failed: [] });
      assert.ok(!sent.join("\n").includes(token), "secret in a URL or a header");
      assert.ok(!service.logLines.join("\n").includes(token), "secret in the log");
      for (let back = 0; back < 8; back++) {
        await page.goBack().catch(() => null);
        assert.ok(!page.url().includes(token), "secret in the history");
      }
    });
  }

  test("the secret is removed from the URL before anything is sent", async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    const { page } = await openPage(browser, service.url);
    // Stops the page at the moment of sending.
    await page.addInitScript("HTMLFormElement.prototype.submit = () => {}");
    const secret = `enr_${"A".repeat(43)}`;
    await page.goto(`${service.url}/enrol#${secret}`);
    assert.equal(await page.locator('input[name="link"]').inputValue(), secret);
    assert.equal(await page.evaluate("location.href"), `${service.url}/enrol`);
  });

  test("without JavaScript the person pastes the link and types the key", async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    const [{ words, locale }] = languages;
    const [email, phone] = ["betiksiz@buro.example", "+905323330009"];
    const link = await approved(email, phone);
    const { page, misdeeds } = await openPage(browser, service.url, { locale, javaScriptEnabled: false });
    await page.goto(link);
    await page.locator('input[name="link"]').fill(link);
    await page.getByRole("button", { name: words.next }).click();
    const typed = async (on: Page) => (await on.locator("code.secret").innerText()).replaceAll(" ", "");
    const { secret } = await setUp(page, words, phone, typed);
    await page.getByRole("link", { name: words.goOn }).click();
    await signInOn(page, words, email, secret);
    assert.deepEqual(misdeeds, { complaints: [], foreign: [], failed: [] });
  });

  test("replaces a forgotten password and withdraws an application with the links in the mails", async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    const [, { words, locale }] = languages;
    const { demo } = await readFirstRun(service.dataDir);
    const { page, misdeeds } = await openPage(browser, service.url, { locale });
    await page.goto(`${service.url}/reset-password/request`);
    await page.locator('input[name="email"]').fill(demo.email);
    await page.getByRole("button").click();
    await page.waitForURL(`${service.url}/reset-password/sent`);
    await page.goto(linkIn((await messageTo(service.dataDir, demo.email, "password_reset")).text));
    await page.locator('input[name="new_password"]').fill(password);
    await page.getByRole("button", { name: words.setPassword }).click();
    await page.waitForURL(`${service.url}/reset-password/done`);
    await signInAs(service, { ...demo, password });

    const email = "cayan@buro.example";
    await apply(email, "+905323330008");
    await page.goto(linkIn((await messageTo(service.dataDir, email, "application_received")).text));
    await page.getByRole("button", { name: words.withdraw }).click();
    await page.getByRole("heading", { name: "Withdrawn" }).waitFor();
    assert.deepEqual(misdeeds, { complaints: [], foreign: [], failed: [] });
  });
});
