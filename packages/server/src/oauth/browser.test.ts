import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { openBrowser, openPage } from "../testing/browser.ts";
import { needs } from "../testing/needs.ts";
import { startTestService } from "../testing/running.ts";
import { agentClientId } from "./index.ts";
import { addClient, authorizePath, demoOf, pkce, post, redeem, roomyLimits, siteOf } from "./testing.ts";

const service = await startTestService({ after }, { settings: roomyLimits });
const site = siteOf(service);
const demo = await demoOf(service);

async function signIn(page: Page): Promise<void> {
  await page.locator('input[name="email"]').fill(demo.email);
  await page.locator('input[name="password"]').fill(demo.password);
  await page.locator('input[name="totp_code"]').fill(site.nextCode(demo.totp_secret));
  await page.locator('button[value="sign_in"]').click();
}

test("an application gets its code through a browser; a wrong password shows an error; no page has errors or calls another origin", async (t) => {
  const executable = needs(t, "chromium");
  if (executable === undefined) return;
  const program = createServer((_request, response) =>
    response.end("<title>Defter</title><link rel=icon href=data:,>"),
  );
  await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
  t.after(() => program.close());
  const redirect = `http://127.0.0.1:${(program.address() as AddressInfo).port}/geri`;
  const client = await addClient(service, {
    accountId: demo.account_id,
    grants: ["authorization_code"],
    redirectUris: ["http://127.0.0.1/geri"],
  });
  const browser = await openBrowser(t, executable);
  const { page, misdeeds } = await openPage(browser, service.url);
  const { verifier, challenge } = pkce();

  await page.goto(`${service.url}${authorizePath(client, challenge, { redirect_uri: redirect })}`);
  await page.locator('input[name="email"]').fill(demo.email);
  await page.locator('input[name="password"]').fill("not it");
  await page.locator('input[name="totp_code"]').fill("000000");
  await page.locator('button[value="sign_in"]').click();
  await page.getByRole("alert").waitFor();
  await signIn(page);
  await page.locator('button[value="approve"]').click();
  await page.waitForURL(`${redirect}?**`);

  const code = new URL(page.url()).searchParams.get("code") ?? "";
  assert.equal((await redeem(site, client, code, verifier, { redirect_uri: redirect })).status, 200);
  assert.deepEqual(
    misdeeds.foreign.map((url) => new URL(url).origin),
    [new URL(redirect).origin],
  );
  // The wrong password is a 401, which the browser itself remarks on.
  assert.deepEqual(
    misdeeds.failed.map((line) => line.split(" ").at(-1)),
    ["401"],
  );
  assert.deepEqual(
    misdeeds.complaints.filter((text) => !text.includes("401")),
    [],
  );
});

test("a device is connected in Turkish and without JavaScript", async (t) => {
  const executable = needs(t, "chromium");
  if (executable === undefined) return;
  const { json } = await post(site, "/oauth2/device_authorization", { client_id: agentClientId });
  const browser = await openBrowser(t, executable);
  const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled: false, locale: "tr-TR" });
  const page = await context.newPage();

  await page.goto(String(json?.verification_uri_complete));
  await page.getByRole("button", { name: "Devam" }).click();
  await page.getByText("Emanet Agent").waitFor();
  await page.getByRole("button", { name: "Devam" }).click();
  await signIn(page);
  await page.getByText("Yedek almak").waitFor();
  await page.getByRole("button", { name: "İzin ver" }).click();
  await page.getByRole("heading", { name: "Bağlandı" }).waitFor();

  const tokens = await post(site, "/oauth2/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    client_id: agentClientId,
    device_code: String(json?.device_code),
  });
  assert.equal(tokens.status, 200);
});
