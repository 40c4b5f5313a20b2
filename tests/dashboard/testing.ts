/** The service with an office in it, and a browser: what the tests of the dashboard share. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type MadeTaxpayer, makeTaxpayer } from "../../packages/server/src/taxpayers/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { type Misdeeds, openPage } from "../../packages/server/src/testing/browser.ts";
import { testClock } from "../../packages/server/src/testing/clock.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { type Login, noSignInLimits, readFirstRun } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";

export { sharedBrowser } from "../../packages/server/src/testing/browser.ts";

const settings = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "10000/60",
};

export interface Office {
  readonly service: TestService;
  readonly login: Login;
  readonly accountId: string;
  readonly auth: { readonly authorization: string };
  /** A taxpayer with its first snapshot, of these files. */
  backedUp(name: string, files?: Readonly<Record<string, string>>): Promise<MadeTaxpayer>;
  /** Waits until the search finds it. */
  indexed(text: string): Promise<void>;
}

/** The demo account of the first run, with nothing in it yet. */
export async function startOffice(
  cleanup: Cleanup,
  clock = testClock(),
  more: Readonly<Record<string, string>> = {},
): Promise<Office> {
  const service = await startTestService(cleanup, { settings: { ...settings, ...more }, clock });
  const { demo: login } = await readFirstRun(service.dataDir);
  const { auth } = await tokenFor(service, { as: "client", kind: "api", accountId: login.account_id });
  return {
    service,
    login,
    accountId: login.account_id,
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

/** Shows an open page in this look. It is loaded again only for another language: that takes most of a second. */
export async function showLook(page: Page, look: Look): Promise<void> {
  await setLook(page, look);
  if ((await page.locator("html").getAttribute("lang")) !== look.language) await page.reload();
  await page.waitForLoadState("networkidle");
}

/** A page whose clock is that of the service. Violations of the policy are recorded, also those that the console does not show. */
export async function openDashboard(
  browser: Browser,
  { service }: Office,
  locale: "tr-TR" | "en-GB" = "tr-TR",
): Promise<OpenedPage> {
  const { page, misdeeds } = await openPage(browser, service.url, { locale });
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

/** Time passes, for the service and for the page. */
export async function advance(page: Page, { service }: Office, ms: number): Promise<void> {
  service.clock.advance(ms);
  await page.clock.setFixedTime(service.clock.now());
}

/** After so long an act that cannot be undone asks for a code again. */
export const factorAgeMs = 11 * 60_000;

/** Answers the dialog that asks for a fresh code. */
export async function confirmIdentity(page: Page, office: Office): Promise<void> {
  await page.getByRole("heading", { name: "Siz olduğunuzu doğrulayın" }).waitFor();
  await advance(page, office, 30_000);
  await page.getByLabel("Doğrulama kodu").fill(codeAt(office.login.totp_secret, office.service.clock.now()));
  await page.getByRole("button", { name: "Doğrula", exact: true }).click();
}

/** Another role for the person of the office, or another state of the account; the page shows it when it is loaded again. */
export async function setRole({ service, login }: Office, role: string): Promise<void> {
  await storedRows(service.database, "update emanet.people set role = $2 where email = $1", [login.email, role]);
}
export async function setAccountState({ service, accountId }: Office, state: string): Promise<void> {
  await storedRows(service.database, "update emanet.accounts set state = $2 where id = $1", [accountId, state]);
}

const axeRules = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];

/** The checker itself, half a megabyte: a page gets it once, until it is loaded again. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds in the page, as short lines. It is given to the page by the debugger, which our policy does not bind. */
export async function axeFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axeSource);
  // A colour on its way to another, as of a button that is no longer disabled, is no finding.
  await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))");
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: axeRules, resultTypes: ["violations"] })})`,
  )) as AxeResults;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

export const nothing = { complaints: [], foreign: [], failed: [] };

/** Nothing went wrong on the page so far. */
export function assertClean({ misdeeds, violations }: OpenedPage, about: string): void {
  // The page gives up a search when the next letter is typed, and a file loaded ahead when it is left.
  const failed = misdeeds.failed.filter((text) => !text.endsWith("net::ERR_ABORTED"));
  assert.deepEqual({ ...misdeeds, failed, violations }, { ...nothing, violations: [] }, about);
}

/** Requests that the service had to refuse so far, with this status: they are no fault of the page. The browser remarks on each. */
export function forgetRefusals({ misdeeds }: OpenedPage, status: number): void {
  const keep = (lines: string[], isRefusal: (line: string) => boolean) =>
    lines.splice(0, lines.length, ...lines.filter((line) => !isRefusal(line)));
  keep(misdeeds.failed, (line) => line.endsWith(` ${status}`));
  keep(misdeeds.complaints, (line) => line.includes(`status of ${status} `));
}

/** The page in these looks: axe finds nothing, and nothing scrolls sideways. */
export async function assertLooks(
  { page }: OpenedPage,
  looks: readonly (Look & { readonly shows: string })[],
): Promise<void> {
  for (const { shows, ...look } of looks) {
    await showLook(page, look);
    await page.getByText(shows).first().waitFor();
    assert.deepEqual(await axeFindings(page), [], JSON.stringify(look));
    await assertFits(page, look.width);
  }
}

/** No sideways scrolling at this width. */
export async function assertFits(page: Page, width: number): Promise<void> {
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width);
}
