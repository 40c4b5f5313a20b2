// long: 20 s

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { endpoint } from "../kernel/http/endpoint.ts";
import { tokenFor } from "../testing/accounts.ts";
import { openPage, sharedBrowser } from "../testing/browser.ts";
import { startTestService } from "../testing/running.ts";
import { guideNames } from "./guides.ts";

/** A page that breaks the rules. */
const spoilt = endpoint(
  {
    id: "tests.spoilt",
    method: "GET",
    path: "/docs/spoilt",
    tag: "docs",
    summary: "For tests",
    description: "For tests.",
    access: { kind: "public" },
    replies: { 200: { description: "A page.", content: ["text/html"] } },
  },
  async () => ({
    status: 200,
    headers: { "content-security-policy": "default-src 'none'; img-src *" },
    body: `<!doctype html><link rel="icon" href="data:,"><script>1</script>
      <img src="https://elsewhere.invalid/a.png"><img src="/missing.png">`,
  }),
);
const service = await startTestService({ after }, { extra: [spoilt] });
const nothing = { complaints: [], foreign: [], failed: [] };

const browserFor = sharedBrowser({ after });

/** Violations of the policy, also those that the page catches and the console does not show. */
async function recordViolations(page: Page): Promise<string[]> {
  const violations: string[] = [];
  await page.exposeFunction("reportViolation", (text: string) => violations.push(text));
  await page.addInitScript(`addEventListener("securitypolicyviolation", (event) =>
    reportViolation(event.effectiveDirective + " " + event.blockedURI))`);
  return violations;
}

const texts = {
  "tr-TR": { tryIt: /^İsteği dene/, send: /isteğini gönder/, token: "Belirteç", look: "dark" },
  "en-GB": { tryIt: /^Test Request/, send: /^Send get request/i, token: "Token", look: "light" },
} as const;

for (const [locale, { tryIt, send, token: placeholder, look: colorScheme }] of Object.entries(texts)) {
  test(`${locale}, ${colorScheme}: the reference shows an operation, and try-it sends a real request and shows the answer`, async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    const { page, misdeeds } = await openPage(browser, service.url, { locale });
    await page.emulateMedia({ colorScheme });
    const violations = await recordViolations(page);
    const { auth } = await tokenFor(service);
    const { json: account } = await service.send("GET", "/v1/account", { headers: auth });
    await page.goto(`${service.url}/docs#tag/account/account.get`);
    const reader = page.frameLocator("#reader");
    const operation = reader.locator("[id$='tag/account/account.get']");
    await operation.getByRole("heading", { name: "Read the account" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), locale.slice(0, 2));
    assert.equal(await isDark(page), colorScheme === "dark");
    await operation.getByRole("button", { name: tryIt }).click();
    const dialog = reader.getByRole("dialog");
    await dialog.getByPlaceholder(placeholder).first().fill(auth.authorization.replace("Bearer ", ""));
    await dialog.getByRole("button", { name: send }).first().click();
    await dialog.getByText(String(account?.id)).first().waitFor();
    assert.deepEqual({ ...misdeeds, violations }, { ...nothing, violations: [] });
  });
}

test("the reader has neither our cookies nor our storage, connects to nothing, and its requests carry no cookie", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const { page } = await openPage(browser, service.url);
  const cookie = {
    name: "__Host-refresh",
    value: "secret",
    domain: "127.0.0.1",
    path: "/",
    secure: true,
    httpOnly: true,
  };
  await page.context().addCookies([cookie, { ...cookie, name: "readable", httpOnly: false }]);
  const seen: Promise<string>[] = [];
  page.on("request", (request) => {
    seen.push(request.allHeaders().then((headers) => `${request.url()} ${headers.cookie}`));
  });
  await page.goto(`${service.url}/docs`);
  await page.evaluate("localStorage.setItem('emanet.session', '1')");
  const reader = page.frameLocator("#reader");
  await reader.getByRole("heading", { name: "Emanet API" }).waitFor();
  const frame = page.frames().find((one) => one.url().includes("/docs/reader"));
  const found = await frame?.evaluate(`(async () => {
    const direct = new XMLHttpRequest();
    const sent = new Promise((resolve) => {
      direct.onload = () => resolve("answered");
      direct.onerror = () => resolve("refused");
    });
    direct.open("GET", "/v1/me");
    direct.send();
    return {
      origin: window.origin,
      cookie: document.cookie,
      session: localStorage.getItem("emanet.session"),
      parent: (() => { try { return parent.document.title } catch (error) { return error.name } })(),
      direct: await sent,
      relayed: (await fetch("/v1/auth/refresh", { method: "POST", credentials: "include" })).status,
      elsewhere: await fetch("https://elsewhere.invalid/").then(() => "sent", (error) => error.name),
    };
  })()`);
  assert.deepEqual(found, {
    ...{ origin: "null", cookie: "", session: null, parent: "SecurityError" },
    ...{ direct: "refused", relayed: 401, elsewhere: "TypeError" },
  });
  const refreshes = (await Promise.all(seen)).filter((line) => line.includes("/v1/auth/refresh"));
  assert.deepEqual(refreshes, [`${service.url}/v1/auth/refresh undefined`]);
});

test("the address of the page follows what is read, and a link in the reader opens in the whole window", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const { page } = await openPage(browser, service.url);
  await page.goto(`${service.url}/docs#tag/account/account.get`);
  const reader = page.frameLocator("#reader");
  await reader.locator("[id$='tag/account/account.get']").getByRole("heading").first().waitFor();
  await page.evaluate("location.hash = '#tag/audit/audit.get_chain'");
  await reader.locator("[id$='tag/audit/audit.get_chain']").getByRole("heading").first().waitFor();
  assert.equal(new URL(page.url()).pathname, "/docs");
  await page.goto(`${service.url}/docs/reader?lang=en`);
  await page.waitForURL(`${service.url}/docs?lang=en`);
});

describe("guides and pages of error codes", () => {
  test("are clean in both languages and both looks, and lead to each other, to the reference and to the other language", async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    const { page, misdeeds } = await openPage(browser, service.url, { locale: "tr-TR" });
    const violations = await recordViolations(page);
    for (const path of [...guideNames.map((name) => `/docs/guides/${name}`), "/docs/errors", "/docs/errors/banned"]) {
      await visit(page, path);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assert.equal(await isDark(page), colorScheme === "dark", path);
      }
      assert.equal(await page.locator("html").getAttribute("lang"), "tr");
      await page.getByRole("link", { name: "English" }).click();
      await page.locator("html[lang=en]").waitFor();
      await page.waitForLoadState("networkidle");
    }
    await page.goto(`${service.url}/docs/guides/limits?lang=en`);
    await page.getByRole("link", { name: "rate_limits.list" }).click();
    const operation = page.frameLocator("#reader").locator("[id$='tag/rate-limits/rate_limits.list']");
    await operation.getByRole("heading").first().waitFor();
    await page.getByRole("link", { name: "Idempotency", exact: true }).click();
    await page.getByRole("heading", { name: "Idempotency", exact: true }).waitFor();
    assert.deepEqual({ ...misdeeds, violations }, { ...nothing, violations: [] });
  });

  test("fit a phone without sideways scrolling; the first key leads to the content", async (t) => {
    const browser = await browserFor(t);
    if (browser === undefined) return;
    for (const path of ["/docs", ...guideNames.map((name) => `/docs/guides/${name}`)]) {
      // A fresh page: a browser gives up loading the icon when the next address comes.
      const { page, misdeeds } = await openPage(browser, service.url);
      await page.setViewportSize({ width: 320, height: 640 });
      await visit(page, path);
      const reader = page.frameLocator("#reader");
      if (path === "/docs") await reader.getByRole("heading", { name: "Emanet API" }).waitFor();
      const width = await page.evaluate("document.documentElement.scrollWidth");
      assert.equal(width, 320, path);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate("document.activeElement.id"), "content", path);
      assert.deepEqual(misdeeds, nothing, path);
    }
  });
});

test("the record of misdeeds sees an inline script, a foreign request and a missing file", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const { page, misdeeds } = await openPage(browser, service.url);
  await page.goto(`${service.url}/docs/spoilt`, { waitUntil: "load" });
  assert.ok(misdeeds.complaints.some((text) => text.includes("Content Security Policy")));
  assert.deepEqual(misdeeds.foreign, ["https://elsewhere.invalid/a.png"]);
  assert.ok(misdeeds.failed.some((text) => text.endsWith("/missing.png 404")));
});

/** Waits for the icon too: a browser gives it up when the next page comes, and that would be a failed request. */
async function visit(page: Page, path: string): Promise<void> {
  await page.goto(service.url + path, { waitUntil: "networkidle" });
}

async function isDark(page: Page): Promise<boolean> {
  const background = await page.evaluate("getComputedStyle(document.querySelector('.top')).backgroundColor");
  return background === "rgb(21, 22, 26)";
}
