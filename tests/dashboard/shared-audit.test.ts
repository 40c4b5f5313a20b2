// long: 20 s

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import {
  assertClean,
  assertLooks,
  axeFindings,
  forgetRefusals,
  openDashboard,
  sharedBrowser,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });

test("an outside auditor pastes the key, reads the records and exports them; the key is nowhere but in the page", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  await office.backedUp("Çamlıbel Lokantası");
  const owner = await tokenFor(service, { accountId: office.accountId });
  const made = await service.send("POST", "/v1/audit/shares", {
    json: { label: "Anka Denetim", days: 30, show_persons: false },
    headers: owner.auth,
  });
  assert.equal(made.status, 201, made.body.toString());
  const key = String(made.json?.token);
  const opened = await openDashboard(browser, office);
  const { page } = opened;
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url()));
  await page.goto(`${service.url}/app/shared-audit`);
  await assertLooks(opened, [
    { language: "en", colorScheme: "dark", width: 768, shows: "Shared audit trail" },
    { language: "tr", colorScheme: "light", width: 1440, shows: "Paylaşılan denetim izi" },
  ]);
  await page.getByLabel("Paylaşım anahtarı").fill("shr_yanlis");
  await page.keyboard.press("Enter");
  await page.getByText("Bu anahtar geçerli değil").waitFor();
  forgetRefusals(opened, 401);
  await page.getByLabel("Paylaşım anahtarı").fill(key);
  await page.keyboard.press("Enter");
  await page.getByText("snapshot.completed").first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV indir" }).click(),
  ]);
  assert.match(await readFile(await download.path(), "utf8"), /snapshot\.completed/);
  const kept = await page.evaluate<string>(`(async () => JSON.stringify([
    location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, history.state,
    await indexedDB.databases(), await caches.keys(),
  ]))()`);
  for (const place of [kept, addresses.join("\n"), service.logLines.join("\n")]) {
    assert.equal(place.includes(key), false);
  }
  assertClean(opened, "shared audit");
  await page.setViewportSize({ width: 390, height: 900 });
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
  assert.deepEqual(await axeFindings(page), []);
  await page.reload();
  await page.getByLabel("Paylaşım anahtarı").waitFor();
  assert.equal(await page.getByLabel("Paylaşım anahtarı").inputValue(), "", "forgotten with the page");
});
