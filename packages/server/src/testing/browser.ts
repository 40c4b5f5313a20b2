/**
 * A headless browser for tests of pages, and a record of what a page did wrong. The browser can reach only this machine:
 * every other name fails to resolve.
 */

import { type Browser, chromium, type Page } from "playwright-core";
import { needs, type Skippable } from "./needs.ts";

/** Starting a cold browser on a loaded machine took up to 10 s. */
const launchLimitMs = 60_000;
/** For one wait on a page: much longer than normal, so that only a broken page reaches it. */
const pageLimitMs = 60_000;

/** Without these a browser sends requests to its vendor at every start. Its sandbox does not work for root. */
const flags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/** Registers clean-up: a test's context. */
export interface BrowserCleanup {
  after(done: () => Promise<void>): void;
}

/** What a page did wrong; all lists must be empty. */
export interface Misdeeds {
  /** Errors and warnings on the console, uncaught exceptions, violations of the security policy. */
  readonly complaints: string[];
  /** Requests to another origin than the page's own. */
  readonly foreign: string[];
  /** Requests that failed or were answered with 400 or more. */
  readonly failed: string[];
}

/** Starts a browser (`needs(t, "chromium")` gives the path); closed at the end of the test. */
export async function openBrowser(t: BrowserCleanup, executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: flags,
    chromiumSandbox: false,
    timeout: launchLimitMs,
  });
  t.after(() => browser.close());
  return browser;
}

/** One browser for all tests of a file; undefined where there is none, and the test is skipped. */
export function sharedBrowser({ after }: BrowserCleanup): (t: Skippable) => Promise<Browser | undefined> {
  let opened: Promise<Browser> | null = null;
  after(async () => (await opened)?.close());
  return async (t) => {
    const executable = needs(t, "chromium");
    if (executable === undefined) return undefined;
    opened ??= openBrowser({ after: () => undefined }, executable);
    return opened;
  };
}

/** Opens an empty page of a fresh profile that only talks to `origin`, with its record. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: { readonly locale?: string; readonly javaScriptEnabled?: boolean } = {},
): Promise<{ page: Page; misdeeds: Misdeeds }> {
  // The certificate of the service under test comes from its own authority, which no browser knows.
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  context.setDefaultTimeout(pageLimitMs);
  const page = await context.newPage();
  const misdeeds: Misdeeds = { complaints: [], foreign: [], failed: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) misdeeds.complaints.push(message.text());
  });
  page.on("pageerror", (error) => misdeeds.complaints.push(error.message));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) misdeeds.foreign.push(url.href);
  });
  page.on("requestfailed", (request) => misdeeds.failed.push(`${request.url()} ${request.failure()?.errorText}`));
  page.on("response", (response) => {
    if (response.status() >= 400) misdeeds.failed.push(`${response.url()} ${response.status()}`);
  });
  return { page, misdeeds };
}
