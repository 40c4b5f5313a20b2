/** What the flows share: one service with a real receiver and real agents, one browser, people who are signed in, and the looks. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { codeAt } from "../../../packages/server/src/identity/factors/totp.ts";
import { tokenFor } from "../../../packages/server/src/testing/accounts.ts";
import { testClock } from "../../../packages/server/src/testing/clock.ts";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import type { Login } from "../../../packages/server/src/testing/people.ts";
import { codeIn, messageTo, tokenIn } from "../../../packages/server/src/testing/sent-messages.ts";
import { temporaryFolder } from "../../../packages/server/src/testing/temporary-folder.ts";
import {
  type Receiver,
  receiverSettings,
  startReceiver,
} from "../../../packages/server/src/webhooks/testing/receiver.ts";
import { type OfficeProgram, programOf, staffOf } from "../others.ts";
import {
  assertClean,
  assertFits,
  axeFindings,
  forgetRefusals,
  type Office,
  type OpenedPage,
  openDashboard,
  setLook,
  signIn,
  startOffice,
} from "../testing.ts";
import { type Hand, keyboardOf, mouseOf } from "./hands.ts";

export interface Run {
  readonly language: "tr" | "en";
  readonly input: "mouse" | "keyboard";
  readonly theme: "light" | "dark";
  readonly width: 1440 | 768 | 390;
}

export interface Bench {
  readonly office: Office;
  readonly program: OfficeProgram;
  readonly receiver: Receiver;
  /** A folder for the files of agents. */
  readonly folder: string;
  readonly caFile: string;
  readonly browser: Browser;
  /** Signed in once: signing in is slow on purpose. */
  readonly owner: OpenedPage;
  /** Screens that axe has seen, each with its theme. */
  readonly seen: Set<string>;
  readonly isThorough: boolean;
}

/** More than all combinations need. */
const limits = {
  EMANET_LIMIT_RESTORE_CREATE: "10000/60",
  EMANET_LIMIT_AUDIT_EXPORT: "10000/60",
  EMANET_LIMIT_APPLICATIONS: "10000/60",
  EMANET_LIMIT_SNAPSHOTS_LIST: "10000/60",
  EMANET_LIMIT_TOKEN: "10000/60",
};

export type BenchService = Pick<Bench, "office" | "program" | "receiver" | "folder" | "caFile">;

export async function startBenchService(cleanup: Cleanup): Promise<BenchService> {
  const receiver = await startReceiver(cleanup);
  const office = await startOffice(cleanup, testClock(), { ...limits, ...receiverSettings(receiver) });
  const folder = await temporaryFolder(cleanup);
  const caFile = path.join(folder, "ca.pem");
  writeFileSync(caFile, office.service.ca);
  return { office, program: programOf(office), receiver, folder, caFile };
}

export async function openBench(service: BenchService, browser: Browser, isThorough: boolean): Promise<Bench> {
  const owner = await signedIn(browser, service.office);
  return { ...service, browser, owner, seen: new Set(), isThorough };
}

/** A page of staff. Their sessions end after an hour without use, and much time passes in the flows before. */
export async function withStaff(bench: Bench, work: (opened: OpenedPage) => Promise<void>): Promise<void> {
  const opened = await signedIn(bench.browser, await staffOf(bench.office));
  try {
    await work(opened);
  } finally {
    await opened.page.context().close();
  }
}

async function signedIn(browser: Browser, office: Office): Promise<OpenedPage> {
  const opened = await openDashboard(browser, office);
  await opened.page.goto(office.service.url);
  await signIn(opened.page, office);
  await opened.page.getByRole("heading", { name: "Oturum açın" }).waitFor({ state: "detached" });
  return opened;
}

/** One run of a flow: a page in a look, a hand, and words of its language. */
export interface Stage {
  readonly bench: Bench;
  readonly run: Run;
  /** Different in every run. */
  readonly number: number;
  readonly opened: OpenedPage;
  readonly page: Page;
  readonly hand: Hand;
  /** The text of this run's language. */
  readonly w: (turkish: string, english: string) => string;
  /** A button, a link, … of this name, in a part of the page. */
  readonly button: (name: string | RegExp, within?: Locator) => Locator;
  readonly link: (name: string | RegExp, within?: Locator) => Locator;
}

let number = 0;

/** Opens an address in the look of the run. */
export async function openStage(bench: Bench, run: Run, opened: OpenedPage, address: string): Promise<Stage> {
  const { page } = opened;
  const { language, input, theme, width } = run;
  number += 1;
  // What a run before complained about is that run's.
  for (const lines of [...Object.values(opened.misdeeds), opened.violations]) lines.splice(0);
  const { service } = bench.office;
  await page.clock.setFixedTime(service.clock.now());
  if (page.url() === "about:blank") await page.goto(service.url);
  await setLook(page, { language, colorScheme: theme, width });
  await page.goto(service.url + address);
  return {
    ...{ bench, run, number, opened, page },
    hand: input === "mouse" ? mouseOf(page) : keyboardOf(page),
    w: (turkish, english) => (language === "tr" ? turkish : english),
    button: (name, within) => (within ?? page).getByRole("button", { name }),
    link: (name, within) => (within ?? page).getByRole("link", { name }),
  };
}

/** A screen of the flow: nothing went wrong on it, it fits, and axe finds nothing. */
export async function seen({ bench, run, page, opened }: Stage, screen: string): Promise<void> {
  const key = `${screen} ${run.theme}`;
  if (bench.isThorough || !bench.seen.has(key)) {
    bench.seen.add(key);
    assert.deepEqual(await axeFindings(page), [], `${screen} ${JSON.stringify(run)}`);
  }
  await assertFits(page, run.width);
  assertClean(opened, `${screen} ${JSON.stringify(run)}`);
}

/** To a place of the navigation: in the side bar, or on a phone in the menu of the tab bar. */
export async function goTo({ page, hand, run, w, link, button }: Stage, name: string): Promise<void> {
  if (run.width >= 768) return hand.press(link(new RegExp(`^${name}`), page.locator(".places, .side-foot")));
  await hand.press(button(w("Menü", "Menu"), page.locator(".tab-bar")));
  await hand.press(link(new RegExp(`^${name}`), page.locator(".menu-places")));
}

/** An unused code of an authenticator, after the next step of its clock. */
export async function nextCode({ bench, page }: Stage, login: Login): Promise<string> {
  const { clock } = bench.office.service;
  clock.advance(30_000);
  await page.clock.setFixedTime(clock.now());
  return codeAt(login.totp_secret, clock.now());
}

/** Answers the dialog that asks for a fresh code. The refused request before it is no fault. */
export async function confirm(stage: Stage, login: Login): Promise<void> {
  const { page, hand, w, button, opened } = stage;
  const dialog = page.getByRole("dialog", { name: w("Siz olduğunuzu doğrulayın", "Confirm it’s you") });
  await dialog.waitFor();
  await hand.type(dialog.getByLabel(w("Doğrulama kodu", "Verification code")), await nextCode(stage, login));
  await hand.press(button(w("Doğrula", "Confirm"), dialog));
  await dialog.waitFor({ state: "detached" });
  forgetRefusals(opened, 403);
}

const password = "kırmızı tren 41 kapı";

/** Each owner has a phone: few codes are sent to one. */
let phones = 0;

/** A new office with an owner, from the application to the enrolment. */
export async function newOwner({ office: { service } }: Bench, name: string): Promise<Login> {
  const email = `${name}@yeni.example`;
  const phone = `+90532111${String(2000 + phones++)}`;
  const post = async (target: string, json: object, headers = {}) => {
    const sent = await service.send("POST", target, { json, headers });
    assert.ok(sent.status < 300, sent.body.toString());
    return sent.json ?? {};
  };
  const applied = await post("/applications", {
    ...{ kind: "accounting_office", full_name: "Ayşe Örnek", email, phone, company_name: name },
    ...{ tax_id: "1234567808", package: "accountant", consents: { terms: true, privacy: true } },
  });
  const staff = await tokenFor(service, { as: "staff" });
  await post(`/v1/admin/applications/${applied.id}/approve`, { reason: "belgeler tamam" }, staff.auth);
  const token = tokenIn(await messageTo(service.dataDir, email, "enrolment"));
  const begun = await post("/v1/enrolment", { token });
  const { totp_secret: secret } = begun.totp as { totp_secret: string };
  const challenge = await post("/v1/enrolment/phone", { token });
  const phoneCode = codeIn(await messageTo(service.dataDir, phone, "otp_code"));
  await post("/v1/enrolment/complete", {
    ...{ token, password, totp_code: codeAt(secret, service.clock.now()) },
    ...{ phone_challenge_id: challenge.challenge_id, phone_code: phoneCode },
  });
  return { email, password, totp_secret: secret };
}
