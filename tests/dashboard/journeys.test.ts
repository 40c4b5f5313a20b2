// long: 40 s

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import {
  assertClean,
  assertFits,
  axeFindings,
  type OpenedPage,
  openDashboard,
  setLook,
  sharedBrowser,
  showLook,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const browserFor = sharedBrowser({ after });
/** Signed in by the first test; the others go on with it, because signing in is slow on purpose. */
let dashboard: OpenedPage | undefined;

test("a wrong code says so at the form and keeps what was typed", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const { page } = await openDashboard(browser, office);
  await page.goto(office.service.url);
  await page.getByLabel("E-posta").fill(office.login.email);
  await page.getByLabel("Parola", { exact: true }).fill("yanlış");
  await page.getByLabel("Doğrulama kodu").fill("000 000");
  await page.getByRole("button", { name: "Oturum aç" }).click();
  await page.getByText("E-posta, parola veya kod yanlış").waitFor();
  assert.equal(await page.getByLabel("E-posta").inputValue(), office.login.email);
});

test("a newcomer signs in with first-run.json and sees the three steps; the address and the storage have no token", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(office.service.url);
  await page.getByRole("heading", { name: "Oturum açın" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await signIn(page, office);
  await page.getByRole("heading", { name: "Üç adımda ilk yedeğiniz" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const kept = await page.evaluate<string>(
    "JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, document.cookie])",
  );
  assert.doesNotMatch(kept, /eyJ|[A-Za-z0-9_-]{40}/);
  assertClean(dashboard, "first run");
});

test("the overview says how the night went: both languages and themes, 1440, 768 and 390 px, without a finding of axe", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  for (const name of ["Çamlıbel Lokantası", "Ilıcak Elektrik", "İğdeli Oto"]) await office.backedUp(name);
  const turkish = "3 mükellefin 3’ü yedeklendi";
  const looks = [
    { language: "tr", colorScheme: "light", width: 1440, sentence: turkish },
    { language: "en", colorScheme: "dark", width: 768, sentence: "3 of 3 taxpayers backed up" },
    { language: "tr", colorScheme: "dark", width: 390, sentence: turkish },
  ] as const;
  await page.reload();
  for (const { sentence, ...look } of looks) {
    await showLook(page, look);
    await page.getByRole("heading", { name: sentence }).waitFor();
    await page.getByText("Çamlıbel Lokantası").first().waitFor();
    assert.deepEqual(await axeFindings(page), [], JSON.stringify(look));
    assert.equal(await page.locator("html").getAttribute("lang"), look.language);
    await assertFits(page, look.width);
    assertClean(dashboard, sentence);
  }
});

test("a source of the office itself is no taxpayer: it is counted apart, and has its own square", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const headers = { ...office.auth, "content-type": "application/x-tar" };
  const body = tarOf({ "liste.txt": "liste" });
  const sent = await office.service.send("POST", "/v1/snapshots?source=Ofis", { body, headers });
  assert.equal(sent.status, 201, sent.body.toString());
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.reload();
  await page.getByRole("heading", { name: "3 mükellefin 3’ü yedeklendi" }).waitFor();
  await page.getByText("Ayrıca ofisin 1 kaynağından 1’i yedeklendi.").waitFor();
  await page.getByText("Her kare bir mükellef, son 1 kare ofisin kaynakları").waitFor();
  await page.getByRole("button", { name: "Tablo" }).first().click();
  assert.equal(await page.locator(".night tbody tr").count(), 4);
  assert.equal(await page.locator(".night tbody tr").last().getByRole("rowheader").innerText(), "Ofis");
  assertClean(dashboard, "sources of the office");
});

test("a pasted list is checked line by line and imported; the list of taxpayers is clean, wide and narrow", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.goto(`${office.service.url}/app/taxpayers`);
  await page.getByRole("link", { name: "Çamlıbel Lokantası" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "Listeden aktar" }).first().click();
  await page.getByRole("textbox", { name: "Liste" }).fill("Şahin Nakliyat; 1234567808\nYanlış Ltd\t1234567809\n");
  await page.getByText("1 satır okunamadı").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "1 mükellefi aktar" }).click();
  await page.getByText("1 mükellef eklendi").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Şahin Nakliyat" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("ılıcak");
  await page.getByRole("link", { name: "Şahin Nakliyat" }).waitFor({ state: "detached" });
  assert.match(page.url(), /q=/);
  await setLook(page, { language: "en", colorScheme: "dark", width: 390 });
  await page.reload();
  await page.getByRole("link", { name: "Ilıcak Elektrik" }).click();
  await page.getByRole("heading", { name: "Ilıcak Elektrik" }).waitFor();
  await page.getByText("2 files").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await assertFits(page, 390);
  assertClean(dashboard, "taxpayers");
});

test("a file is found by part of its name and downloaded with the keyboard alone; it is byte for byte the file", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await office.indexed("yevmiye");
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.goto(office.service.url);
  await page.getByRole("heading", { name: "yedeklendi" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("yevm");
  await page
    .getByRole("option", { name: /yevmiye\.xml/ })
    .first()
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+d")]);
  assert.equal(await readFile(await download.path(), "utf8"), "<defter/>");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "yevmiye.xml" }).waitFor();
  await page.getByText("1 sürüm").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assertClean(dashboard, "search");
});

/** How long a person takes before an interaction, and for a letter: the slow ones of the usual models of typing and pointing. */
const [thinkMs, letterMs] = [3_000, 500];

for (const input of ["mouse", "keyboard"] as const) {
  test(`part of a name is enough to have a file in at most 6 interactions and 30 s, by ${input}`, async () => {
    if (dashboard === undefined) return;
    const { page } = dashboard;
    await page.goto(office.service.url);
    await page.getByRole("heading", { name: "yedeklendi" }).waitFor();
    const begun = performance.now();
    const text = "yevm";
    let interactions = 0;
    const act = async <T>(work: Promise<T>): Promise<T> => {
      interactions += 1;
      return work;
    };
    const hit = page.getByRole("option", { name: /yevmiye\.xml/ }).first();
    const isByKeys = input === "keyboard";
    await act(isByKeys ? page.keyboard.press("Control+k") : page.getByRole("button", { name: /^Ara/ }).first().click());
    await page.getByRole("combobox").waitFor();
    await act(page.keyboard.type(text));
    await hit.waitFor();
    const download = page.waitForEvent("download");
    if (isByKeys) await act(page.keyboard.press("Control+d"));
    else {
      await act(hit.click());
      await act(page.locator(".file-panel").getByRole("button", { name: "İndir" }).click());
    }
    assert.equal(await readFile(await (await download).path(), "utf8"), "<defter/>");
    const tookMs = performance.now() - begun + interactions * thinkMs + text.length * letterMs;
    assert.ok(interactions <= 6, `${interactions} interactions`);
    assert.ok(tookMs <= 30_000, `${Math.round(tookMs)} ms with the pauses of a person`);
    assertClean(dashboard, input);
  });
}

test("keys: the skip link, G and a letter, J and K, Esc, and ? with the switch for single letters", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const focused = (selector: string) => page.locator(`${selector}:focus`).waitFor();
  await page.goto(office.service.url);
  await page.getByRole("heading", { name: "yedeklendi" }).waitFor();
  await page.keyboard.press("Tab");
  await focused("a.skip");
  await page.keyboard.press("Enter");
  await focused("main");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("heading", { name: "Mükellefler", level: 1 }).waitFor();
  await focused("main");
  await page.getByRole("link", { name: "Çamlıbel Lokantası" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("k");
  await focused(".row-link");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/app\/taxpayers\/./);
  await page.locator(".crumbs a").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Çamlıbel Lokantası" }).waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Klavye kısayolları" });
  await help.getByText("Denetim izi").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await help.getByLabel("Tek harfli kısayollar açık").uncheck();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.keyboard.press("?");
  // The search opens after them: had they done something, it would be seen by now.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.press("Escape");
  assert.match(page.url(), /taxpayers$/);
  assert.equal(await help.count(), 0);
  await page.evaluate('localStorage.removeItem("emanet.keys")');
  await page.reload();
  await page.getByRole("link", { name: "Çamlıbel Lokantası" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.getByRole("heading", { name: "Denetim izi", level: 1 }).waitFor();
  assertClean(dashboard, "keys");
});

test("chosen files are restored as an archive, watched to the end and downloaded", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("yevm");
  await page
    .getByRole("option", { name: /yevmiye\.xml/ })
    .first()
    .click();
  await page.getByLabel("yevmiye.xml seç").check();
  await page.getByRole("button", { name: "Geri yükle", exact: true }).click();
  await page.getByRole("heading", { name: "Dosyalar nereye gelsin?" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "1 öğeyi geri yükle" }).click();
  await page.getByText("Tamamlandı").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "İndir" }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.zip$/);
  assertClean(dashboard, "restore");
});

test("no screen scrolls sideways at 320, 390, 768 and 1440 px", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const json = { url: "https://kopru.ornek.example/emanet", events: ["*"] };
  const webhook = await office.service.send("POST", "/v1/webhooks", { json, headers: office.auth });
  await office.service.send("POST", `/v1/webhooks/${webhook.json?.id}/test`, { headers: office.auth });
  const listed = await office.service.send("GET", "/v1/snapshots?limit=1", { headers: office.auth });
  const [snapshot] = (listed.json as { data: readonly { id: string }[] }).data;
  const places = ["taxpayers", "snapshots", `snapshots/${snapshot?.id}`, "restores", "sources", "clients", "audit"];
  for (const place of [...places, "webhooks", `webhooks/${webhook.json?.id}`]) {
    await page.goto(`${office.service.url}/app/${place}`);
    await page.locator("main .content > *").first().waitFor();
    await page.waitForLoadState("networkidle");
    for (const width of [320, 390, 768, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width, place);
    }
  }
});

test("signing out in one tab signs out the other", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.reload();
  const other = await page.context().newPage();
  await other.setViewportSize({ width: 1440, height: 900 });
  await other.goto(office.service.url);
  await other
    .getByRole("button", { name: /Hesabım/ })
    .first()
    .click();
  await other.getByRole("button", { name: "Oturumu kapat" }).first().click();
  await page.getByRole("heading", { name: "Oturum açın" }).waitFor();
});
