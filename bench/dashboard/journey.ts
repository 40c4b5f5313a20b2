/** The way through the screens that is measured: every screen is opened, every list filtered, scrolled and paged. */

import type { Locator, Page } from "playwright-core";
import { type FilledOffice, fileName } from "./fill-office.ts";
import type { Scale } from "./scale.ts";
import type { TracedPage } from "./traced-page.ts";

export interface Journey {
  readonly traced: TracedPage;
  readonly url: string;
  readonly office: FilledOffice;
  readonly scale: Scale;
}

/** Conditions, as text for the page. */
const text = (value: string) => JSON.stringify(value);
const has = (selector: string) => `document.querySelector(${text(selector)}) !== null`;
const amount = (selector: string) => `document.querySelectorAll(${text(selector)}).length`;
const says = (selector: string, words: string) =>
  `(document.querySelector(${text(selector)})?.textContent ?? "").includes(${text(words)})`;
const all = (...conditions: readonly string[]) => conditions.map((one) => `(${one})`).join(" && ");
/** A screen with its title and some of its content. */
const screen = (title: string, content: string) => all(says("main h1", title), has(content));

const place = (page: Page, name: string): Locator => page.locator(".side-bar .place", { hasText: name });
const segment = (page: Page, name: string): Locator => page.locator("main label.segment", { hasText: name }).first();

const rowsOfTable = "tbody tr:not(.spacer)";
/** 6000 pixels a second at 60 frames: a wheel that is turned as quickly as it can be. */
const perFrame = 100;

/** What the service says about an upload that failed. */
const interrupted = "Bağlantı ya da hizmet kesildi";

export async function walk(journey: Journey): Promise<void> {
  const parts = { overview, taxpayers, snapshots, browser, search, audit, otherScreens, again };
  for (const [name, part] of Object.entries(parts)) await journey.traced.attempt(name, () => part(journey));
}

async function overview({ traced, url, scale }: Journey): Promise<void> {
  const { page } = traced;
  await traced.load(
    "overview: first paint, warm data",
    url,
    all(says("#night-title", "yedeklendi"), has(".night-grid svg path")),
  );
  await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
  await traced.point("overview: square under the pointer", page.locator(".night-grid-focus"), has(".night-grid .tip"));
  await page.mouse.move(5, 5);
  await traced.click(
    "overview: table of the night",
    page.locator(".legend button"),
    `${amount(".night table tbody tr")} >= ${scale.taxpayers}`,
  );
  await traced.click("overview: squares again", page.locator(".legend button"), has(".night-grid svg path"));
  const days = (name: string) => page.locator(".stored label.segment", { hasText: name });
  for (const [at, name] of [
    [1, "90 gün"],
    [2, "1 yıl"],
  ] as const) {
    const isChosen = `document.querySelectorAll(".stored label.segment input")[${at}].checked`;
    await traced.click(`overview: chart of ${name}`, days(name), all(isChosen, has(".stored svg path")));
  }
}

async function taxpayers({ traced, scale }: Journey): Promise<void> {
  const { page } = traced;
  const rows = ".taxpayers-table tbody tr";
  await traced.click("taxpayers: open", place(page, "Mükellefler"), screen("Mükellefler", `${rows} .heat-cell`));
  await traced.scroll("taxpayers", ".taxpayers-table", rowsOfTable, 6_000 * scale.scrolled, perFrame);
  await page.evaluate("scrollTo(0, 0)");
  await traced.click("taxpayers: filter by status", segment(page, "Yedeklenemedi"), `${amount(rows)} === 3`);
  await traced.click("taxpayers: no filter", segment(page, "Tümü"), `${amount(rows)} > 3`);
  await page.locator("main input[type=search]").click();
  // Also sources have these letters.
  await traced.press(
    "taxpayers: filter by name, first letter",
    "f",
    `document.querySelector(".heat-legend .count").textContent !== "${scale.taxpayers} / ${scale.taxpayers}"`,
  );
  await traced.press(
    "taxpayers: next letter",
    "i",
    `[...document.querySelectorAll(${text(rows)})].every((row) => row.textContent.includes("Fındıklı"))`,
  );
  await page.locator("main input[type=search]").fill("");
  await traced.rest();
  await traced.click("taxpayers: open one", page.locator(`${rows} .row-link`).first(), has(".taxpayer .rows .row"));
  await traced.click(
    "taxpayers: back to the list",
    page.locator(".crumbs a").first(),
    screen("Mükellefler", `${rows} .heat-cell`),
  );
}

async function snapshots({ traced, scale }: Journey): Promise<void> {
  const { page } = traced;
  const rows = ".snapshots .row";
  await traced.click("snapshots: open", place(page, "Yedekler"), screen("Yedekler", rows));
  await traced.click(
    "snapshots: filter by status",
    segment(page, "Başarısız"),
    all(
      has(rows),
      `[...document.querySelectorAll(${text(rows)})].every((row) => row.textContent.includes("${interrupted}"))`,
    ),
  );
  await traced.click(
    "snapshots: no filter",
    segment(page, "Tümü"),
    all(
      has(rows),
      `[...document.querySelectorAll(${text(rows)})].some((row) => !row.textContent.includes("${interrupted}"))`,
    ),
  );
  await traced.scroll("snapshots", ".snapshots", ".row", 30_000 * scale.scrolled, perFrame);
  await page.evaluate("scrollTo(0, 0)");
}

async function browser({ traced, url, office, scale }: Journey): Promise<void> {
  const { page } = traced;
  const rows = ".tree tbody tr:not(.spacer)";
  await page.goto(`${url}/app/snapshots/${office.snapshotId}`);
  await page.locator(rows).first().waitFor();
  await traced.rest();
  await traced.click(
    "folder: open, with all its files",
    page.locator(`${rows} .entry`).first(),
    says(rows, fileName(0)),
  );
  await traced.scroll("folder", ".tree-box", "tr:not(.spacer)", 60_000 * scale.scrolled, 2 * perFrame);
  await page.evaluate(`document.querySelector(".tree-box").scrollTop = 0`);
  await traced.rest();
  await traced.click("folder: choose a file", page.locator(`${rows} input`).nth(1), has(".selection"));
  await traced.click(
    "folder: open a file",
    page.locator(`${rows} .entry`).nth(2),
    all(says("#file-title", fileName(2)), has(".versions .version")),
  );
  await page.locator(".browser-main input[type=search]").click();
  const last = String(scale.files - 1).padStart(6, "0");
  for (const [at, letter] of [...last].entries()) {
    const typed = last.slice(0, at + 1);
    const isLast = at === last.length - 1;
    const shown = isLast
      ? all(`${amount(rows)} === 1`, says(rows, fileName(scale.files - 1)))
      : `document.querySelector(".browser-main input[type=search]").value === ${text(typed)} && [...document.querySelectorAll(${text(rows)})].every((row) => row.textContent.includes(${text(typed)}))`;
    await traced.press(
      isLast ? "folder: filter, last letter: the last of all files" : "folder: filter, a letter",
      letter,
      shown,
    );
    // The first letter shows what is found so far; a line says how many entries were read until all are.
    if (at === 0) await traced.wait("folder: all entries read for the filter", `!(${has(".tree-note")})`);
  }
}

async function search({ traced, scale }: Journey): Promise<void> {
  const { page } = traced;
  const hits = ".palette-list .hit";
  await page.locator("main h1").first().click();
  await traced.press("search: open with Ctrl K", "Control+k", has(".palette-input:focus"));
  const name = `fatura-${String(scale.files - 7).padStart(6, "0")}`;
  await page.keyboard.type(name.slice(0, 4));
  await page.locator(hits).first().waitFor();
  await traced.rest();
  await page.keyboard.type(name.slice(4, -1), { delay: 60 });
  await traced.rest();
  await traced.press("search: last letter of a name", name.slice(-1), all(`${amount(hits)} === 1`, says(hits, name)));
  await traced.press("search: open the file", "Enter", says("#file-title", name));
}

async function audit({ traced, scale }: Journey): Promise<void> {
  const { page } = traced;
  const rows = ".audit-table tbody tr:not(.spacer)";
  const first = `document.querySelector(${text(rows)})?.textContent`;
  await traced.click("audit: open", place(page, "Denetim izi"), screen("Denetim izi", rows));
  await traced.click(
    "audit: 90 days",
    segment(page, "Son 90 gün"),
    all(`document.querySelectorAll("main label.segment input")[2].checked`, has(rows)),
  );
  const before = await page.evaluate<string>(first);
  await traced.click(
    "audit: only failures",
    segment(page, "Başarısız"),
    all(says(rows, "Başarısız"), `${first} !== ${text(before)}`),
  );
  await traced.click(
    "audit: 7 days, failures",
    segment(page, "Son 7 gün"),
    all(`document.querySelectorAll("main label.segment input")[0].checked`, says(rows, "Başarısız")),
  );
  await traced.click(
    "audit: everything",
    segment(page, "Tümü"),
    all(has(rows), `${first} !== undefined`, `!${first}.includes("Başarısız")`),
  );
  await traced.scroll("audit", ".audit-table", rowsOfTable, 40_000 * scale.scrolled, perFrame);
  await page.evaluate("scrollTo(0, 0)");
}

async function otherScreens({ traced, scale }: Journey): Promise<void> {
  const { page } = traced;
  const open = (name: string, title: string, content: string) =>
    traced.click(`${name}: open`, place(page, title), screen(title, content));
  const anything = ".content > *:not(.skeleton)";
  await open("restores", "Geri yüklemeler", anything);
  const rows = ".sources table tbody tr:not(.spacer)";
  await open("sources", "Kaynaklar ve cihazlar", rows);
  await traced.scroll("sources", ".sources table", rowsOfTable, 6_000 * scale.scrolled, perFrame);
  await page.evaluate("scrollTo(0, 0)");
  await page.locator("main input[type=search]").click();
  await traced.press(
    "sources: filter by name",
    "z",
    all(
      has(rows),
      `[...document.querySelectorAll(${text(rows)})].every((row) => row.textContent.toLowerCase().includes("z"))`,
    ),
  );
  await open("webhooks", "Webhook", anything);
  await open("API clients", "API istemcileri", anything);
  await open("retention", "Saklama ve doğrulama", ".retention .rows .row");
  await open("settings", "Ayarlar", ".settings-body input");
  const tab = (name: string, title: string, shown: string) =>
    traced.click(`settings: ${name}`, page.locator(".settings-nav .place", { hasText: title }), shown);
  const list = has(".settings-body table tbody tr, .settings-body .row");
  await tab("security", "Güvenlik", says(".settings-body", "Kurtarma kodları"));
  await tab("team", "Ekip", all(says(".top-aside", "Ekip"), list));
  await tab("usage and limits", "Kullanım", all(says(".top-aside", "Kullanım"), has(".settings-body table tbody tr")));
}

/** Screens that were open before show what they had. */
async function again({ traced }: Journey): Promise<void> {
  const { page } = traced;
  await traced.click(
    "overview: open again",
    place(page, "Genel bakış"),
    all(says("#night-title", "yedeklendi"), has(".night-grid svg path")),
  );
  await traced.click(
    "taxpayers: open again",
    place(page, "Mükellefler"),
    screen("Mükellefler", ".taxpayers-table tbody tr .heat-cell"),
  );
  await traced.click("snapshots: open again", place(page, "Yedekler"), screen("Yedekler", ".snapshots .row"));
  await traced.click("audit: open again", place(page, "Denetim izi"), screen("Denetim izi", ".audit-table tbody tr"));
}
