/** Flow 1, the first run: sign in, paste the taxpayers, connect the office's server, back up, get a file back, and all is green. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Page } from "playwright-core";
import type { Login } from "../../../packages/server/src/testing/people.ts";
import { TestAgent, writeTree } from "../../agent/testing.ts";
import { openDashboard } from "../testing.ts";
import { keyboardOf, mouseOf } from "./hands.ts";
import { type Bench, goTo, newOwner, nextCode, openStage, type Run, type Stage, seen } from "./stage.ts";

const taxpayers = "Çamlıbel Lokantası; 1234567808\nIlıcak Elektrik\t9876543217\n";

export async function firstRun(bench: Bench, run: Run): Promise<void> {
  const login = await newOwner(bench, `ofis-${run.language}-${run.input}-${run.theme}-${run.width}`);
  const opened = await openDashboard(bench.browser, bench.office, run.language === "tr" ? "tr-TR" : "en-GB");
  const stage = await openStage(bench, run, opened, "/");
  await signInByHand(stage, login);
  await addTaxpayers(stage);
  const agent = await connect(stage, login);
  await backUp(stage, agent);
  await tryOne(stage);
  await opened.page.context().close();
}

async function signInByHand(stage: Stage, login: Login): Promise<void> {
  const { page, hand, w, button } = stage;
  await page.getByRole("heading", { name: w("Oturum açın", "Sign in") }).waitFor();
  await seen(stage, "sign-in");
  await hand.type(page.getByLabel(w("E-posta", "E-mail")), login.email);
  await hand.type(page.getByLabel(w("Parola", "Password"), { exact: true }), login.password);
  await hand.type(page.getByLabel(w("Doğrulama kodu", "Verification code")), await nextCode(stage, login));
  await hand.press(button(w("Oturum aç", "Sign in")));
  await page.getByRole("heading", { name: w("Üç adımda ilk yedeğiniz", "Your first backup in three steps") }).waitFor();
  await seen(stage, "checklist");
}

async function addTaxpayers(stage: Stage): Promise<void> {
  const { page, hand, w, button, link } = stage;
  await hand.press(link(w("Mükellef ekle", "Add taxpayers"), page.locator(".checklist")));
  await hand.press(button(w("Listeden aktar", "Import a list")).first());
  await hand.type(page.getByRole("textbox", { name: w("Liste", "List") }), taxpayers);
  await hand.press(button(w("2 mükellefi aktar", "Import 2 taxpayers")));
  await page.getByText(w("2 mükellef eklendi", "2 taxpayers added")).waitFor();
  await seen(stage, "import");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Ilıcak Elektrik" }).waitFor();
  await goTo(stage, w("Genel bakış", "Overview"));
  await page.locator(".checklist").waitFor();
}

/** The machine shows a code; the person compares it, signs in for this decision, and gives the vaults. */
async function connect(stage: Stage, login: Login): Promise<TestAgent> {
  const { bench, number, page, hand, w, button, link } = stage;
  const agent = new TestAgent(path.join(bench.folder, `makine-${number}`));
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>();
  const { promise: code, resolve: tell } = Promise.withResolvers<string>();
  let printed = "";
  const out = (text: string) => {
    printed += text;
    const shown = /enter the code (\S+)/.exec(printed)?.[1];
    if (shown !== undefined) tell(shown);
  };
  const args = ["login", "--url", bench.office.service.url, "--ca-file", bench.caFile, "--name", "OFIS-SUNUCU"];
  const done = agent.run(args, { context: { out, wait: () => decided } });
  await hand.press(link(w("Cihaz bağla", "Connect a device"), page.locator(".checklist")));
  await page.getByRole("heading", { name: w("İlk cihazınızı bağlayın", "Connect your first device") }).waitFor();
  await seen(stage, "first device");
  await hand.press(button(w("Cihaz bağla", "Connect a device")));
  const field = page.getByLabel(w("Cihazın gösterdiği kod", "The code that the device shows"));
  await hand.type(field, (await code).toLowerCase());
  const [approval] = await Promise.all([
    page.context().waitForEvent("page"),
    hand.press(button(w("Karşılaştır ve onayla", "Compare and approve"))),
  ]);
  await approve(stage, approval, login, await code);
  decide();
  assert.equal((await done).code, 0);
  await page.getByText(w("OFIS-SUNUCU bağlandı", "OFIS-SUNUCU is connected")).waitFor();
  await seen(stage, "device connected");
  await hand.tick(page.getByLabel("Çamlıbel Lokantası"));
  await hand.press(button(w("Kasaları ver", "Give these vaults")));
  await page.getByText(w("Cihaz hazır", "The device is ready")).waitFor();
  await hand.press(button(w("Kapat", "Close"), page.getByRole("dialog")).last());
  return agent;
}

async function approve(stage: Stage, approval: Page, login: Login, code: string): Promise<void> {
  const { run, w } = stage;
  const hand = run.input === "mouse" ? mouseOf(approval) : keyboardOf(approval);
  await approval.setViewportSize({ width: run.width, height: 900 });
  await approval.emulateMedia({ colorScheme: run.theme });
  const next = approval.getByRole("button", { name: w("Devam", "Continue") });
  await hand.press(next);
  await approval.getByText(code).waitFor();
  await hand.press(next);
  await hand.type(approval.locator('input[name="email"]'), login.email);
  await hand.type(approval.locator('input[name="password"]'), login.password);
  await hand.type(approval.locator('input[name="totp_code"]'), await nextCode(stage, login));
  await hand.press(approval.locator('button[value="sign_in"]'));
  await hand.press(approval.getByRole("button", { name: w("İzin ver", "Allow") }));
  await approval.getByRole("heading", { name: w("Bağlandı", "Connected") }).waitFor();
  await approval.close();
}

/** The folder is chosen on the machine. The page shows the backup by itself, and that it was verified. */
async function backUp(stage: Stage, agent: TestAgent): Promise<void> {
  const { page, w, hand, link } = stage;
  await goTo(stage, w("Genel bakış", "Overview"));
  await page.locator(".night, .checklist").first().waitFor();
  const vaultId = await vaultOf(stage);
  const from = writeTree(path.join(agent.folder, "defter"), { "yevmiye.xml": "<defter/>", "mizan.xlsx": "mizan" });
  await agent.json("backup", from, "--source", "Logo Tiger", "--vault", vaultId, "--threads", "0");
  await page.getByRole("heading", { name: w("2 mükelleften 1’i yedeklendi", "1 of 2 taxpayers backed up") }).waitFor();
  await seen(stage, "first night");
  await hand.press(link(w("Yedekleri gör", "See the backups"), page.locator(".checklist")));
  await page.getByText("Çamlıbel Lokantası").first().waitFor();
}

/** From the address of the taxpayer's page. */
async function vaultOf({ page }: Stage): Promise<string> {
  const [answer] = await Promise.all([page.waitForResponse((one) => /\/v1\/vaults\?/.test(one.url())), page.reload()]);
  const { data } = (await answer.json()) as { data: readonly { id: string; name: string }[] };
  return data.find(({ name }) => name === "Çamlıbel Lokantası")?.id ?? assert.fail("no vault");
}

async function tryOne(stage: Stage): Promise<void> {
  const { page, hand, w, link, button } = stage;
  await hand.press(link("Çamlıbel Lokantası", page.locator(".snapshots")));
  await page.getByText(w("Doğrulandı", "Verified")).waitFor();
  await hand.press(button("yevmiye.xml", page.locator(".tree")));
  const download = page.waitForEvent("download");
  await hand.press(button(w("İndir", "Download"), page.locator(".file-panel")));
  assert.equal(await readFile(await (await download).path(), "utf8"), "<defter/>");
  await seen(stage, "first file");
  await goTo(stage, w("Genel bakış", "Overview"));
  await page.locator(".night").waitFor();
  await page.locator(".checklist").waitFor({ state: "detached" });
}
