/** Flow 2, a file back: searched by part of its name, downloaded, and an older version brought onto a machine. Flow 3, a red taxpayer. */

import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Download } from "playwright-core";
import { makeTaxpayer } from "../../../packages/server/src/taxpayers/testing.ts";
import { readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { storedRows } from "../../../packages/server/src/testing/rows.ts";
import { TestAgent, writeTree } from "../../agent/testing.ts";
import { factorAgeMs } from "../testing.ts";
import { optionsOf } from "./hands.ts";
import { type Bench, confirm, openStage, type Run, type Stage, seen } from "./stage.ts";

/** Two versions of one file, sent by an agent, which then waits for restores. */
async function sendVersions({ office, folder, caFile, program }: Bench, name: string): Promise<TestAgent> {
  const { demo } = await readFirstRun(office.service.dataDir);
  const agent = new TestAgent(path.join(folder, name), {
    ...{ EMANET_URL: office.service.url, EMANET_CA_FILE: caFile },
    ...{ EMANET_CLIENT_ID: demo.client_id, EMANET_CLIENT_SECRET: demo.client_secret },
  });
  const { vault_id: vaultId } = await makeTaxpayer(office.service, await program.auth(), `Dosyalı ${name}`);
  const from = path.join(agent.folder, "veri");
  for (const content of ["eski", "yeni"]) {
    writeTree(from, { [`${name} yevmiye.xml`]: `<${content}/>` });
    await agent.json("backup", from, "--source", name, "--vault", vaultId, "--threads", "0");
    office.service.clock.advance(60_000);
  }
  // The machines of a test have one name.
  await storedRows(
    office.service.database,
    "update emanet.agents set name = $1 where created_at = (select max(created_at) from emanet.agents)",
    [name],
  );
  return agent;
}

/** Waits until the search finds it. */
async function indexed({ office: { service }, program }: Bench, text: string): Promise<void> {
  const headers = await program.auth();
  for (;;) {
    const found = await service.send("GET", `/v1/search?query=${text}`, { headers });
    assert.equal(found.status, 200, found.body.toString());
    if ((found.json as { data: readonly unknown[] }).data.length > 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export async function fileBack(bench: Bench, run: Run): Promise<void> {
  const name = `d${run.language}${run.input}${run.theme}${run.width}`;
  const agent = await sendVersions(bench, name);
  await indexed(bench, name);
  bench.office.service.clock.advance(factorAgeMs);
  const stage = await openStage(bench, run, bench.owner, "/");
  const { page, hand, w, button } = stage;
  await page
    .getByRole("heading", { name: w("yedeklendi", "backed up") })
    .first()
    .waitFor();
  const option = await search(stage, `${name} yev`);
  const isByKeys = run.input === "keyboard";
  if (isByKeys) {
    assert.equal(await contentOf(page.waitForEvent("download"), page.keyboard.press("ControlOrMeta+d")), "<yeni/>");
    await page.keyboard.press("Enter");
  } else await hand.press(option);
  await page.getByRole("heading", { name: `${name} yevmiye.xml` }).waitFor();
  await page.getByText(w("2 sürüm", "2 versions")).waitFor();
  await seen(stage, "file");
  const panel = page.locator(".file-panel");
  if (!isByKeys)
    assert.equal(
      await contentOf(page.waitForEvent("download"), hand.press(button(w("İndir", "Download"), panel))),
      "<yeni/>",
    );
  await hand.press(page.getByRole("link", { name: w("Göster", "Show") }));
  await page.locator(".version").last().getByText(w("Seçili", "Chosen")).waitFor();
  if (isByKeys) {
    assert.equal(await contentOf(page.waitForEvent("download"), page.keyboard.press("d")), "<eski/>");
    await page.keyboard.press("r");
  } else await hand.press(button(w("Bu sürümü geri yükle", "Restore this version"), panel));
  await toMachine(stage, agent, name);
}

async function search({ page, hand, run, w, button }: Stage, text: string) {
  if (run.input === "keyboard") await page.keyboard.press("ControlOrMeta+k");
  else await hand.press(button(/^(?:Ara|Search)/).filter({ visible: true }));
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type(text);
  const option = page.getByRole("option", { name: new RegExp(text) }).first();
  await option.waitFor();
  await page
    .getByRole("status")
    .filter({ hasText: w("Ctrl D indir", "Ctrl D download") })
    .waitFor();
  return option;
}

async function contentOf(download: Promise<Download>, act: Promise<void>): Promise<string> {
  const [done] = await Promise.all([download, act]);
  return readFile(await done.path(), "utf8");
}

/** Where, the code, then the machine does it: the file is there, and the page says that it was checked. */
async function toMachine(stage: Stage, agent: TestAgent, name: string): Promise<void> {
  const { bench, page, hand, w, button } = stage;
  const dialog = page.getByRole("dialog", { name: w("Dosyalar nereye gelsin?", "Where should the files go?") });
  await dialog.waitFor();
  await hand.pick(dialog.getByRole("radio", { name: w("Bir cihaza geri yükle", "Restore to a device") }));
  const device = dialog.getByLabel(w("Cihaz", "Device"), { exact: true });
  const target = path.join(agent.folder, "geri");
  mkdirSync(target, { recursive: true });
  await seen(stage, "restore dialog");
  const names = await optionsOf(device);
  await hand.choose(device, names.find((one) => one.startsWith(`${name} (`)) ?? "");
  await hand.press(button(w("1 öğeyi geri yükle", "Restore 1 item"), dialog));
  await confirm(stage, bench.office.login);
  await page.getByRole("heading", { name: w("Geri yüklemeler", "Restores") }).waitFor();
  assert.equal((await agent.run(["orders", "--root", target, "--once"])).code, 0);
  await page
    .getByText(w("Her dosya özetiyle karşılaştırıldı", "Every file was checked against its hash"))
    .first()
    .waitFor();
  const [restored] = globSync(`${target}/**/${name} yevmiye.xml`);
  assert.equal(readFileSync(restored ?? "", "utf8"), "<eski/>");
  await seen(stage, "restores");
}

/** Flow 3: the red square leads to the cause, the last good copy and three things to try; the next backup turns it green by itself. */
export async function redTaxpayer(bench: Bench, run: Run): Promise<void> {
  const { office, program } = bench;
  const name = `Kırmızı ${run.language} ${run.input} ${run.theme} ${run.width}`;
  const { vault_id: vaultId } = await makeTaxpayer(office.service, await program.auth(), name);
  await program.backUp(vaultId, { "a.txt": "bir" });
  // The good backup is that of the night before.
  const dayBefore = ["created_at", "completed_at"].map((column) => `${column} = ${column} - interval '1 day'`);
  await storedRows(office.service.database, `update emanet.snapshots set ${dayBefore.join()} where vault_id = $1`, [
    vaultId,
  ]);
  await sendBroken(bench, vaultId);
  const stage = await openStage(bench, run, bench.owner, "/");
  const { page, w } = stage;
  await page.getByText(`${name}`).first().waitFor();
  await seen(stage, "red night");
  await openSquare(stage, name);
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  await page.getByRole("heading", { name: w("Yedeklenemedi", "Not backed up") }).waitFor();
  const trouble = page.locator(".trouble");
  await trouble.getByText(w("Arşiv", "archive"), { exact: false }).first().waitFor();
  assert.equal(await trouble.getByRole("listitem").count(), 3);
  await seen(stage, "red taxpayer");
  const good = trouble.getByRole("link");
  await stage.hand.press(good);
  await page.getByText("a.txt").waitFor();
  // Back to the taxpayer, as people go: by Esc, or by the name above.
  if (run.input === "keyboard") await page.keyboard.press("Escape");
  else await stage.hand.press(page.locator(".crumbs").getByRole("link", { name }));
  await trouble.waitFor();
  await program.backUp(vaultId, { "a.txt": "iki" });
  await page.getByRole("heading", { name: w("Yedeklendi", "Backed up") }).waitFor();
  await trouble.waitFor({ state: "detached" });
  await seen(stage, "green taxpayer");
}

async function sendBroken({ office: { service }, program }: Bench, vaultId: string): Promise<void> {
  const query = new URLSearchParams({ source: "Logo", vault_id: vaultId });
  const headers = { ...(await program.auth()), "content-type": "application/x-tar" };
  const body = Buffer.from("no tar".repeat(100));
  const sent = await service.send("POST", `/v1/snapshots?${query}`, { body, headers });
  assert.equal(sent.status, 422, sent.body.toString());
}

/** The square of a taxpayer: under the pointer, or by the arrows. Its name is shown. */
async function openSquare({ page, run, hand }: Stage, name: string): Promise<void> {
  const grid = page.locator(".night-grid-focus");
  const tip = page.locator(".night-grid .tip strong");
  const isShown = async () => (await tip.count()) > 0 && (await tip.innerText()) === name;
  if (run.input === "keyboard") {
    await hand.reach(grid);
    for (let steps = 0; !(await isShown()); steps += 1) {
      assert.ok(steps < 500, `the arrows do not lead to ${name}`);
      await page.keyboard.press("ArrowRight");
    }
    return page.keyboard.press("Enter");
  }
  await grid.scrollIntoViewIfNeeded();
  const box = (await grid.boundingBox()) ?? assert.fail("no grid");
  for (let y = 8; y < box.height; y += 12) {
    for (let x = 8; x < box.width; x += 12) {
      await page.mouse.move(box.x + x, box.y + y);
      if (await isShown()) return page.mouse.click(box.x + x, box.y + y);
    }
  }
  assert.fail(`no square shows ${name}`);
}
