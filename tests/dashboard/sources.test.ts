/** Sources and devices: a machine is connected with the real agent, its vaults are given, its sources are watched, it is revoked. */
// long: 30 s

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { TestAgent, writeTree } from "../agent/testing.ts";
import {
  advance,
  assertClean,
  assertLooks,
  axeFindings,
  confirmIdentity,
  factorAgeMs,
  forgetRefusals,
  type OpenedPage,
  openDashboard,
  setAccountState,
  setLook,
  setRole,
  sharedBrowser,
  signIn,
  startOffice,
} from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
const folder = await temporaryFolder({ after });
const agent = new TestAgent(folder);
/** Signed in by the first test; the others go on with it. */
let dashboard: OpenedPage | undefined;

interface ListedAgent {
  readonly id: string;
  readonly name: string;
  readonly vaults: readonly string[];
}

async function listedAgents(): Promise<readonly ListedAgent[]> {
  const { json } = await service.send("GET", "/v1/agents", { headers: office.auth });
  return (json as { data: readonly ListedAgent[] }).data;
}

/** Runs `login` on the machine. `code` is what it shows; it asks again when `decided` resolves. */
function startLogin(decided: Promise<void>) {
  const caFile = path.join(folder, "ca.pem");
  writeFileSync(caFile, service.ca);
  let printed = "";
  let tell: (code: string) => void = () => undefined;
  const code = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const out = (text: string) => {
    printed += text;
    const shown = /enter the code (\S+)/.exec(printed)?.[1];
    if (shown !== undefined) tell(shown);
  };
  const args = ["login", "--url", service.url, "--ca-file", caFile, "--name", "OFIS-SUNUCU"];
  const done = agent.run(args, { context: { out, wait: () => decided } });
  return { code, done };
}

test("without a device the screen says how to install, with the command for this service", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(service.url);
  await signIn(page, office);
  await page.getByRole("link", { name: "Kaynaklar ve cihazlar" }).first().click();
  await page.getByRole("heading", { name: "İlk cihazınızı bağlayın" }).waitFor();
  await page.getByText(`emanet login --url ${service.url}`).waitFor();
  await assertLooks(dashboard, [
    { language: "en", colorScheme: "dark", width: 390, shows: "Connect your first device" },
    { language: "tr", colorScheme: "light", width: 1440, shows: "İlk cihazınızı bağlayın" },
  ]);
  assertClean(dashboard, "empty");
});

test("a machine is connected by its code and writes to the vaults that it is given", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const { vault_id: vaultId } = await office.backedUp("Çamlıbel Lokantası");
  let decide: () => void = () => undefined;
  const login = startLogin(
    new Promise((resolve) => {
      decide = resolve;
    }),
  );
  const code = await login.code;
  await page.getByRole("button", { name: "Cihaz bağla" }).click();
  const field = page.getByLabel("Cihazın gösterdiği kod");
  await field.fill("ABC");
  await page.getByRole("button", { name: "Karşılaştır ve onayla" }).click();
  await page.getByText("Kod sekiz harftir").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await field.fill(code.toLowerCase().replace("-", ""));
  const [approval] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("button", { name: "Karşılaştır ve onayla" }).click(),
  ]);
  await page.getByText(`${code} kodlu cihaz bekleniyor`).waitFor();
  assert.deepEqual(await axeFindings(page), []);

  await approval.getByRole("button", { name: "Devam" }).click();
  await approval.getByText(code).waitFor();
  await approval.getByRole("button", { name: "Devam" }).click();
  await advance(page, office, 30_000);
  await approval.locator('input[name="email"]').fill(office.login.email);
  await approval.locator('input[name="password"]').fill(office.login.password);
  await approval.locator('input[name="totp_code"]').fill(codeAt(office.login.totp_secret, service.clock.now()));
  await approval.locator('button[value="sign_in"]').click();
  await approval.getByRole("button", { name: "İzin ver" }).click();
  await approval.getByRole("heading", { name: "Bağlandı" }).waitFor();
  await approval.close();
  decide();
  assert.equal((await login.done).code, 0);

  await page.getByText("OFIS-SUNUCU bağlandı").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByLabel("Çamlıbel Lokantası").check();
  await page.getByRole("button", { name: "Kasaları ver" }).click();
  await page.getByText("Cihaz hazır").waitFor();
  const [listed] = await listedAgents();
  assert.ok(listed?.vaults.includes(vaultId), "the vault was given");
  await page.getByRole("button", { name: "Kapat" }).last().click();

  const from = writeTree(path.join(folder, "veri"), { "a.txt": "bir" });
  await agent.json("backup", from, "--source", "Logo Tiger", "--vault", vaultId, "--threads", "0");
  await page.reload();
  await page.getByRole("rowheader", { name: /Logo Tiger/ }).waitFor();
  await page.getByRole("heading", { name: "2 kaynağın 2’si güncel" }).waitFor();
  await page.getByText("Son yedek tamamlandı").waitFor();
  await assertLooks(dashboard, [
    { language: "tr", colorScheme: "light", width: 1440, shows: "OFIS-SUNUCU" },
    { language: "en", colorScheme: "dark", width: 768, shows: "OFIS-SUNUCU" },
    { language: "en", colorScheme: "light", width: 390, shows: "OFIS-SUNUCU" },
  ]);
  assertClean(dashboard, "connected");
});

test("a source that is expected every day is late after two days; changing it asks for a code once, and keeps what was typed", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setLook(page, { language: "tr", colorScheme: "light", width: 1440 });
  await advance(page, office, factorAgeMs);
  await page.reload();
  await page.getByRole("button", { name: "Logo Tiger kaynağını düzenle" }).click();
  await page.getByLabel("Beklenen aralık").selectOption({ label: "Günde bir" });
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "Kaydet" }).click();
  await confirmIdentity(page, office);
  await page.getByRole("cell", { name: "Günde bir" }).waitFor();
  forgetRefusals(dashboard, 403);

  await advance(page, office, 2 * 24 * 3_600_000);
  await page.reload();
  await page.getByRole("heading", { name: "2 kaynaktan 1’i güncel" }).waitFor();
  await page.getByText("1’i gecikti").waitFor();
  await page.getByText("Dün", { exact: false }).first().waitFor();
  await page.getByRole("radio", { name: /Gecikti/ }).check({ force: true });
  await page.getByRole("rowheader", { name: /e-Defter/ }).waitFor({ state: "detached" });
  assert.match(page.url(), /state=late/);
  assert.deepEqual(await axeFindings(page), []);
  assertClean(dashboard, "late");
});

test("a viewer and a suspended account see everything and change nothing, and are told why", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await setRole(office, "viewer");
  await page.reload();
  const connect = page.getByRole("button", { name: /Cihaz bağla/ });
  await page.getByText("OFIS-SUNUCU").waitFor();
  assert.equal(await connect.getAttribute("aria-disabled"), "true");
  assert.match((await connect.getAttribute("title")) ?? "", /Operatör rolü gerekir/);
  await connect.click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0);
  const revoke = page.getByRole("button", { name: /İptal et/ });
  assert.equal(await revoke.getAttribute("aria-disabled"), "true");
  assert.deepEqual(await axeFindings(page), []);
  await setRole(office, "auditor");
  await page.reload();
  await page.getByText("Bu sayfayı açma yetkiniz yok").waitFor();
  await setRole(office, "owner");
  await setAccountState(office, "suspended");
  await page.reload();
  await page.getByText("Hesap askıda. Yeni yedek alınmaz").waitFor();
  assert.match((await connect.getAttribute("title")) ?? "", /askıdayken/);
  assert.equal(await revoke.getAttribute("aria-disabled"), null, "revoking works while the account is suspended");
  await setAccountState(office, "active");
  assertClean(dashboard, "rights");
});

test("a failed request keeps its place and can be repeated; without a connection the data stays", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  await page.route("**/v1/agents*", (route) => route.abort());
  await page.reload();
  await page.getByText("Sunucuya ulaşılamadı").waitFor();
  await page.unroute("**/v1/agents*");
  await page.getByRole("button", { name: "Yeniden dene" }).click();
  await page.getByText("OFIS-SUNUCU").waitFor();
  await page.context().setOffline(true);
  await page.getByText("Bağlantı yok").waitFor();
  await page.getByText("OFIS-SUNUCU").waitFor();
  await page.context().setOffline(false);
  dashboard.misdeeds.failed.length = 0;
  dashboard.misdeeds.complaints.length = 0;
});

test("a machine that is revoked is gone from the list, and its next backup is refused", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const backUp = () => agent.run(["backup", path.join(folder, "veri"), "--source", "ofis", "--threads", "0"]);
  assert.equal((await backUp()).code, 0);
  await page.reload();
  await page.getByRole("button", { name: "İptal et" }).click();
  await page.getByRole("heading", { name: "OFIS-SUNUCU iptal edilsin mi?" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("dialog").getByRole("button", { name: "İptal et" }).click();
  await confirmIdentity(page, office);
  await page.getByText("Henüz bağlı cihaz yok").first().waitFor();
  assert.equal((await backUp()).code, 4);
  forgetRefusals(dashboard, 403);
  assertClean(dashboard, "revoked");
});
