/** Starts everything, fills the office, signs in, and walks through the screens. */

import type { Page } from "playwright-core";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { openBrowser, openPage } from "../../packages/server/src/testing/browser.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { type MeasuredSetup, startSetup } from "../api/measured-setup.ts";
import { fillOffice } from "./fill-office.ts";
import { walk } from "./journey.ts";
import type { Scale } from "./scale.ts";
import { type Scrolled, type Trace, TracedPage } from "./traced-page.ts";

export interface BenchOptions {
  readonly scale: Scale;
  readonly rounds: number;
  /** False for no way before the measured ones: for a test, which compares no time. */
  readonly warms?: boolean;
  readonly log: (line: string) => void;
  /** For Chromium's trace of the last round. */
  readonly traceFile?: string;
}

export interface BenchResult {
  /** Of each round, in the order in which they were measured. */
  readonly traces: readonly Trace[];
  readonly scrolls: readonly Scrolled[];
  /** Errors on the console, and requests that failed. */
  readonly complaints: readonly string[];
  /** Interactions that did not end. */
  readonly failures: readonly string[];
}

export async function runBench(options: BenchOptions): Promise<BenchResult> {
  const cleanups: (() => unknown)[] = [];
  try {
    return await run(options, cleanups);
  } finally {
    for (let undo = cleanups.pop(); undo !== undefined; undo = cleanups.pop()) await undo();
  }
}

async function run(options: BenchOptions, cleanups: (() => unknown)[]): Promise<BenchResult> {
  const { scale, rounds, warms = true, log, traceFile } = options;
  const executable = needs(noTest, "chromium");
  if (executable === undefined) throw new Error("there is no Chromium: run tools/system-packages.sh");
  // The address that is bound is the one that the browser opens.
  const setup = await startSetup({ cleanups, settings: { EMANET_PUBLIC_URL: "" } });
  const office = await fillOffice(setup, scale, log);
  const browser = await openBrowser({ after: (close) => void cleanups.push(close) }, executable);
  const { page, misdeeds } = await openPage(browser, setup.url, { locale: "tr-TR" });
  await page.setViewportSize({ width: 1440, height: 900 });
  const warm = await TracedPage.open(page, log);
  await warm.prepare();
  await signIn(page, setup);
  // The first way loads the files of the page and fills the caches of the service and of PostgreSQL.
  if (warms) {
    await walk({ traced: warm, url: setup.url, office, scale });
    log("the first way is done");
  }
  const failures = warm.failures.map((failure) => `first round: ${failure}`);
  const traces: Trace[] = [];
  const scrolls: Scrolled[] = [];
  for (let round = 1; round <= rounds; round++) {
    const traced = await TracedPage.open(page, log);
    const isTraced = traceFile !== undefined && round === rounds;
    if (isTraced) await browser.startTracing(page, { path: traceFile });
    await walk({ traced, url: setup.url, office, scale });
    if (isTraced) await browser.stopTracing();
    traces.push(...traced.traces);
    scrolls.push(...traced.scrolls);
    failures.push(...traced.failures);
    log(`round ${round} of ${rounds}`);
  }
  // The page gives up a search when the next letter is typed, and the wait for events when it is left.
  const failed = misdeeds.failed.filter((line) => !line.endsWith("net::ERR_ABORTED"));
  return { traces, scrolls, failures, complaints: [...misdeeds.complaints, ...failed] };
}

/** Signing in is slow on purpose, and the first page of a service is slower. */
const signInLimitMs = 60_000;

const noTest = { skip: () => undefined };

async function signIn(page: Page, { url, dataFolder }: MeasuredSetup): Promise<void> {
  const { demo } = await readFirstRun(dataFolder);
  await page.goto(url);
  await page.getByLabel("E-posta").fill(demo.email);
  await page.getByLabel("Parola", { exact: true }).fill(demo.password);
  await page.getByLabel("Doğrulama kodu").fill(codeAt(demo.totp_secret, new Date()));
  await page.getByRole("button", { name: "Oturum aç" }).click();
  await page.locator("#night-title").waitFor({ timeout: signInLimitMs });
}
