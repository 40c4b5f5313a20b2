/** The service with an office in it, and a browser: what the tests of the dashboard share. */

import assert from "node:assert/strict";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type MadeTaxpayer, makeTaxpayer } from "../../packages/server/src/taxpayers/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { type Misdeeds, openBrowser, openPage } from "../../packages/server/src/testing/browser.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { needs, type Skippable } from "../../packages/server/src/testing/needs.ts";
import { type Login, noSignInLimits, readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";

const settings = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60",
};

export interface Office {
  readonly service: TestService;
  readonly login: Login;
  readonly auth: { readonly authorization: string };
  /** A taxpayer with its first snapshot, of these files. */
  backedUp(name: string, files?: Readonly<Record<string, string>>): Promise<MadeTaxpayer>;
  /** Waits until the search finds it. */
  indexed(text: string): Promise<void>;
}

/** The demo account of the first run, with nothing in it yet. */
export async function startOffice(cleanup: Cleanup): Promise<Office> {
  const service = await startTestService(cleanup, { settings });
  const { demo: login } = await readFirstRun(service.dataDir);
  const { auth } = await tokenFor(service, { as: "client", kind: "api", accountId: login.account_id });
  return {
    service,
    login,
    auth,
    async backedUp(name, files = { "Defter/yevmiye.xml": "<defter/>", "Mizan 2026-10.xlsx": "mizan" }) {
      const taxpayer = await makeTaxpayer(service, auth, name);
      const query = new URLSearchParams({ source: "e-Defter", vault_id: taxpayer.vault_id });
      const headers = { ...auth, "content-type": "application/x-tar" };
      const sent = await service.send("POST", `/v1/snapshots?${query}`, { body: tarOf(files), headers });
      assert.equal(sent.status, 201, sent.body.toString());
      return taxpayer;
    },
    async indexed(text) {
      for (;;) {
        const found = await service.send("GET", `/v1/search?query=${text}`, { headers: auth });
        const { data = [] } = (found.json ?? {}) as { data?: readonly unknown[] };
        if (data.length > 0) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** One browser for all tests of a file; undefined where there is none, and the test is skipped. */
export function sharedBrowser({ after }: Cleanup): (t: Skippable) => Promise<Browser | undefined> {
  let opened: Promise<Browser> | null = null;
  after(async () => (await opened)?.close());
  return async (t) => {
    const executable = needs(t, "chromium");
    if (executable === undefined) return undefined;
    opened ??= openBrowser({ after: () => undefined }, executable);
    return opened;
  };
}

export interface OpenedPage {
  readonly page: Page;
  readonly misdeeds: Misdeeds;
  readonly violations: string[];
}

export interface Look {
  readonly language: "tr" | "en";
  readonly colorScheme: "light" | "dark";
  readonly width: number;
}

/** Language, theme and width of an open page. The page shows its language when it is loaded again. */
export async function setLook(page: Page, { language, colorScheme, width }: Look): Promise<void> {
  await page.evaluate(`localStorage.setItem("emanet.language", "${language}")`);
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 900 });
}

/** A page whose clock is that of the service. Violations of the policy are recorded, also those that the console does not show. */
export async function openDashboard(browser: Browser, { service }: Office): Promise<OpenedPage> {
  const { page, misdeeds } = await openPage(browser, service.url, { locale: "tr-TR" });
  const violations: string[] = [];
  await page.exposeFunction("reportViolation", (text: string) => violations.push(text));
  await page.addInitScript(`addEventListener("securitypolicyviolation", (event) =>
    reportViolation(event.effectiveDirective + " " + event.blockedURI))`);
  await page.clock.setFixedTime(service.clock.now());
  await page.setViewportSize({ width: 1440, height: 900 });
  return { page, misdeeds, violations };
}

/** Signs in by the form, with an unused code. */
export async function signIn(page: Page, { service, login }: Office): Promise<void> {
  service.clock.advance(30_000);
  await page.clock.setFixedTime(service.clock.now());
  await page.getByLabel("E-posta").fill(login.email);
  await page.getByLabel("Parola", { exact: true }).fill(login.password);
  await page.getByLabel("Doğrulama kodu").fill(codeAt(login.totp_secret, service.clock.now()));
  await page.getByRole("button", { name: "Oturum aç" }).click();
}

/** What axe finds, as short lines. */
export async function axeFindings(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"])
    .analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

export const nothing = { complaints: [], foreign: [], failed: [] };

/** Nothing went wrong on the page so far. */
export function assertClean({ misdeeds, violations }: OpenedPage, about: string): void {
  // The page gives up a search when the next letter is typed, and a file loaded ahead when it is left.
  const failed = misdeeds.failed.filter((text) => !text.endsWith("net::ERR_ABORTED"));
  assert.deepEqual({ ...misdeeds, failed, violations }, { ...nothing, violations: [] }, about);
}

/** No sideways scrolling at this width. */
export async function assertFits(page: Page, width: number): Promise<void> {
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width);
}
