/** Upload by hand: files and folders, dropped and picked; a lost connection; cancelling. What arrives is byte for byte what was chosen. */
// long: 25 s

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { writeTree } from "../agent/testing.ts";
import {
  assertClean,
  assertFits,
  axeFindings,
  type OpenedPage,
  openDashboard,
  setLook,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
/** Larger than two parts, and of no repeating content. */
const large = Buffer.concat(
  Array.from({ length: 9 * 1024 * 32 }, (_, at) => createHash("sha256").update(String(at)).digest()),
);
const folder = writeTree(path.join(await temporaryFolder({ after }), "Defterler"), {
  "2026/Ekim yevmiye.xml": "<defter ay='10'/>",
  "2026/boş.txt": "",
  "LOGODB.bak": large,
});
/** Signed in by the first test; the others go on with it. */
let dashboard: OpenedPage | undefined;

const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

async function newest(): Promise<{ readonly id: string; readonly status: string }> {
  const listed = await service.send("GET", "/v1/snapshots?limit=1&sort=-created_at", { headers: office.auth });
  const [first] = (listed.json as { data: readonly { id: string; status: string }[] }).data;
  assert.ok(first);
  return first;
}

/** The files of a snapshot as they come back, by path. */
async function restored(id: string, paths: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of paths) {
    const place = file.split("/").map(encodeURIComponent).join("/");
    const { status, body } = await service.send("GET", `/v1/snapshots/${id}/files/${place}`, { headers: office.auth });
    assert.equal(status, 200, file);
    found[file] = sha256(body);
  }
  return found;
}

async function openDialog(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Elle yükle" }).click();
  await page.getByRole("heading", { name: "Dosyaları elle yükleyin" }).waitFor();
}

test("a folder is picked and sent; a connection that breaks off is taken up where it was, and every byte arrives", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(`${service.url}/app/snapshots`);
  await signIn(page, office);
  await openDialog(page);
  await page.getByRole("button", { name: "Yüklemeyi başlat" }).click();
  await page.getByText("Önce dosya ya da klasör seçin").waitFor();
  await page.locator("input[type=file][webkitdirectory]").setInputFiles(folder);
  await page.getByText("3 dosya, 9,44 MB").waitFor();
  await page.getByLabel("Kaynak adı").fill("Eski defterler");
  assert.deepEqual(await axeFindings(page), []);

  const offsets: (string | undefined)[] = [];
  await page.route("**/files/Defterler/LOGODB.bak", async (route) => {
    const request = route.request();
    if (request.method() === "PATCH") offsets.push(request.headers()["upload-offset"]);
    // The second part is lost on its way.
    if (request.method() === "PATCH" && offsets.length === 2) return route.abort("connectionreset");
    return route.continue();
  });
  await page.getByRole("button", { name: "Yüklemeyi başlat" }).click();
  await page.getByText("Bağlantı bekleniyor").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByText("Yedek tamamlandı").waitFor();
  const part = 4 * 1024 * 1024;
  assert.deepEqual(offsets, ["0", `${part}`, `${part}`, `${2 * part}`], "nothing that arrived is sent again");
  const { id, status } = await newest();
  assert.equal(status, "completed");
  assert.deepEqual(
    await restored(id, ["Defterler/2026/Ekim yevmiye.xml", "Defterler/2026/boş.txt", "Defterler/LOGODB.bak"]),
    {
      "Defterler/2026/Ekim yevmiye.xml": sha256("<defter ay='10'/>"),
      "Defterler/2026/boş.txt": sha256(""),
      "Defterler/LOGODB.bak": sha256(large),
    },
  );
  await page.getByRole("link", { name: "Yedeği aç" }).click();
  await page.getByText("Defterler").first().waitFor();
  await page.unroute("**/files/Defterler/LOGODB.bak");
  dashboard.misdeeds.failed.length = 0;
  dashboard.misdeeds.complaints.length = 0;
});

test("files and folders are dropped, also by hand at 390 px in English and dark", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "en", colorScheme: "dark", width: 390 });
  await page.goto(`${service.url}/app/snapshots`);
  await page.getByRole("button", { name: "Upload by hand" }).click();
  const place = page.getByText("Drag files and folders here");
  await place.scrollIntoViewIfNeeded();
  const box = await place.boundingBox();
  assert.ok(box);
  const browserSession = await page.context().newCDPSession(page);
  const files = [path.join(folder, "2026"), path.join(folder, "2026/Ekim yevmiye.xml")];
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    const data = { items: [], files, dragOperationsMask: 1 };
    await browserSession.send("Input.dispatchDragEvent", { type, x: box.x + 5, y: box.y + 5, data });
  }
  await page.getByText("3 files").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await assertFits(page, 390);
  await page.getByRole("button", { name: "Start the upload" }).click();
  await page.getByText("The backup is complete").waitFor();
  await assertFits(page, 390);
  const { id } = await newest();
  assert.deepEqual(await restored(id, ["2026/Ekim yevmiye.xml", "2026/boş.txt", "Ekim yevmiye.xml"]), {
    "2026/Ekim yevmiye.xml": sha256("<defter ay='10'/>"),
    "2026/boş.txt": sha256(""),
    "Ekim yevmiye.xml": sha256("<defter ay='10'/>"),
  });
  assertClean(dashboard, "dropped");
});

test("a page that was loaded again takes the upload up when the same files are chosen; nothing that arrived is sent again", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.reload();
  await openDialog(page);
  await page.locator("input[type=file][webkitdirectory]").setInputFiles(folder);
  const sent: string[] = [];
  await page.route("**/v1/snapshots/*/files/Defterler/**", async (route) => {
    const request = route.request();
    const offset = request.headers()["upload-offset"] ?? "";
    if (request.method() === "PATCH" && offset !== "0" && sent.length < 100) return route.abort("connectionreset");
    return route.continue();
  });
  await page.getByRole("button", { name: "Yüklemeyi başlat" }).click();
  await page.getByText("Bağlantı bekleniyor").waitFor();
  const { id } = await newest();
  const kept = await page.evaluate<string>("localStorage.getItem('emanet.upload')");
  assert.doesNotMatch(kept, /LOGODB|yevmiye|Defterler/, "no name is kept in the browser");
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await page.getByText("Yarım kalan bir yükleme var: 3 dosya, 9,44 MB").first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.unroute("**/v1/snapshots/*/files/Defterler/**");
  page.on("request", (request) => {
    if (!/\/files\//.test(request.url()) || request.method() === "HEAD") return;
    sent.push(`${request.method()} ${request.headers()["upload-offset"] ?? ""}`);
  });
  await openDialog(page);
  await page.locator("input[type=file][webkitdirectory]").setInputFiles(folder);
  await page.getByRole("button", { name: "Yüklemeyi başlat" }).click();
  await page.getByText("Yedek tamamlandı").waitFor();
  const part = 4 * 1024 * 1024;
  assert.deepEqual(sent, [`PATCH ${part}`, `PATCH ${2 * part}`]);
  const ended = await newest();
  assert.deepEqual([ended.id, ended.status], [id, "completed"]);
  assert.deepEqual(await restored(id, ["Defterler/LOGODB.bak"]), { "Defterler/LOGODB.bak": sha256(large) });
  assert.equal(await page.evaluate("localStorage.getItem('emanet.upload')"), null);
  dashboard.misdeeds.failed.length = 0;
  dashboard.misdeeds.complaints.length = 0;
});

test("an upload goes on while another screen is open, pauses on what waiting does not cure, and can be canceled", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await page.reload();
  await openDialog(page);
  await page.locator("input[type=file]:not([webkitdirectory])").setInputFiles(path.join(folder, "LOGODB.bak"));
  const full = { status: 409, code: "quota_exceeded", title: "Kasa dolu", detail: "Kasada yer yok." };
  await page.route("**/files/LOGODB.bak", (route) =>
    route.request().method() === "PATCH"
      ? route.fulfill({
          status: 409,
          contentType: "application/problem+json",
          body: JSON.stringify(full),
        })
      : route.continue(),
  );
  await page.getByRole("button", { name: "Yüklemeyi başlat" }).click();
  await page.getByText("Yükleme durdu").waitFor();
  await page.getByText("Kasa dolu").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("link", { name: "Geri yüklemeler" }).first().click();
  await page.getByRole("heading", { name: "Geri yüklemeler" }).waitFor();
  await page.getByRole("link", { name: "Yedekler" }).first().click();
  await page.getByText("Yükleme durdu").waitFor();
  assert.match((await newest()).status, /queued|running/);
  await page.getByRole("button", { name: "Vazgeç" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Vazgeç" }).last().click();
  await page.getByText("Yüklemeden vazgeçildi").waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await newest()).status, "canceled");
});
