/**
 * `npm run screens`: takes the screenshots of `docs/screens`, one for each mock of the design, in the size of the mock. It starts a
 * service with an office in it and needs Chromium. The page `docs/screens/README.md` says how each differs from its mock.
 *
 *   npm run screens -- FOLDER     writes them elsewhere
 */

import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { testServerVariable } from "../packages/server/src/testing/database.ts";
import type { Office } from "../tests/dashboard/testing.ts";
import { startTestServer } from "./test-server.ts";

const folder = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, "../docs/screens"));
const cleanups: (() => Promise<void>)[] = [];
const cleanup = { after: (done: () => Promise<void>) => void cleanups.unshift(done) };
const { server, stop } = await startTestServer();
try {
  process.env[testServerVariable] = JSON.stringify(server);
  await takeAll();
} finally {
  for (const done of cleanups) await done();
  await stop();
}

async function takeAll(): Promise<void> {
  // These read the server of the run when they are loaded.
  const { openDashboard, setLook, sharedBrowser, signIn, startOffice } = await import("../tests/dashboard/testing.ts");
  const { testClock } = await import("../packages/server/src/testing/clock.ts");
  const { fillOffice, firstMoment } = await import("./screens/fill-office.ts");
  const office = await startOffice(cleanup, testClock(firstMoment));
  const filled = await fillOffice(cleanup, office);
  const browser = await sharedBrowser(cleanup)({ skip: (why) => console.error(why) });
  if (browser === undefined) return;
  const { page } = await openDashboard(browser, office);
  mkdirSync(folder, { recursive: true });
  const open: Open = async (address, text, look = {}) => {
    await setLook(page, { language: "tr", colorScheme: "light", width: 1440, ...look });
    await page.goto(office.service.url + address);
    await page.getByText(text).first().waitFor();
    await page.waitForLoadState("networkidle");
  };
  await page.goto(office.service.url);
  await takeSignedOut(page, open, office);
  await open("/", "Oturum açın");
  await signIn(page, office);
  await page.getByText("mükelleften").first().waitFor();
  await takeOverview(page, open);
  await takeSnapshot(page, open, filled.snapshotId);
  await open(`/app/webhooks/${filled.webhookId}`, "Teslimatlar");
  await page.locator(".deliveries button").first().click();
  await page.getByText("Olay kimliği").waitFor();
  await shoot(page, "5-webhook-deliveries");
  await open("/app/audit", "Zincir sağlam");
  await shoot(page, "6-audit-trail");
}

/** Opens an address of the service and waits for a text on it. */
type Open = (address: string, text: string, look?: { colorScheme?: "dark"; width?: number }) => Promise<void>;

async function takeSignedOut(page: Page, open: Open, { service, login }: Office): Promise<void> {
  await open("/", "Oturum açın");
  await page.getByLabel("E-posta").fill(login.email);
  await page.getByLabel("Parola", { exact: true }).fill("parolamgizli");
  await page.getByLabel("Doğrulama kodu").fill("518");
  await shoot(page, "7-sign-in");
  const { agentClientId } = await import("../packages/server/src/oauth/index.ts");
  const asked = await service.send("POST", "/oauth2/device_authorization", {
    body: new URLSearchParams({ client_id: agentClientId, scope: "snapshots:write" }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  await open(`/oauth2/device?user_code=${asked.json?.user_code}`, "Devam");
  await page.getByRole("button", { name: "Devam" }).click();
  await page.getByText(String(asked.json?.user_code)).waitFor();
  await shoot(page, "8-plain-pages");
}

async function takeOverview(page: Page, open: Open): Promise<void> {
  await open("/", "mükelleften");
  await shoot(page, "1-overview-light");
  await open("/", "mükelleften", { colorScheme: "dark" });
  await shoot(page, "1-overview-dark");
  await open("/", "mükelleften", { width: 390 });
  await shoot(page, "1-overview-mobile");
  await open("/app/taxpayers", "Çamlıbel Lokantası");
  await shoot(page, "2-taxpayers");
}

async function takeSnapshot(page: Page, open: Open, id: string): Promise<void> {
  const month = "e-Defter/2026/10";
  const number = "1234567808-202610";
  const search = new URLSearchParams({ path: month, file: `${month}/${number}-Y-000000.xml` });
  await open(`/app/snapshots/${id}?${search}`, "5 sürüm");
  for (const kind of ["Y", "K", "YB"]) await page.getByLabel(`${number}-${kind}-000000.xml seç`).check();
  await shoot(page, "3-snapshot-browser");
  await page.getByRole("button", { name: "Geri yükle", exact: true }).click();
  await page.getByText("Bir cihaza geri yükle").click();
  await shoot(page, "4-restore");
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  console.error(`screens: ${name}`);
}
