// long: 40 s

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { openAs } from "./others.ts";
import { assertClean, type OpenedPage, openDashboard, sharedBrowser, signIn, startOffice } from "./testing.ts";

const office = await startOffice({ after });
const { service } = office;
const browserFor = sharedBrowser({ after });
let dashboard: OpenedPage | undefined;

/** Without a slash, so that a file can have this name. */
const markup = "<img src=x onerror=window.hacked=1><svg onload=window.hacked=1>";
/** Shows what stands before it as if it stood behind. */
const turned = "\u202e";
const hostile = `${markup}fatura${turned}gpj.exe`;

/** Nothing of the hostile text became an element or ran, and its direction does not turn the text around it. */
async function assertHarmless({ page, violations }: OpenedPage, about: string): Promise<void> {
  const found = await page.evaluate<readonly unknown[]>(`[
    window.hacked ?? null,
    document.querySelectorAll('img[src="x"], [onerror], [onload], main script').length,
    document.body.innerText.includes("${turned}"),
  ]`);
  assert.deepEqual([...found, violations], [null, 0, false, []], about);
}

const places = [
  ...["/", "/app/taxpayers", "/app/snapshots", "/app/restores", "/app/webhooks", "/app/audit", "/app/retention"],
  ...["/app/settings", "/app/settings?tab=team", "/app/settings?tab=package", "/app/settings?tab=usage"],
];

async function visit(opened: OpenedPage, path: string): Promise<void> {
  const { page } = opened;
  await page.goto(service.url + path);
  await page.locator("main").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

test("names of files, sources and taxpayers are text: nothing of them runs, and hidden characters are shown", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const { vault_id: vaultId } = await office.backedUp(markup, { [hostile]: "a", [`klasör/${hostile}`]: "b" });
  dashboard = await openDashboard(browser, office);
  const { page } = dashboard;
  await page.goto(service.url);
  await signIn(page, office);
  await page.getByRole("heading", { name: /yedeklendi/ }).waitFor();
  for (const place of places) {
    await visit(dashboard, place);
    await assertHarmless(dashboard, place);
  }
  const list = await service.send("GET", `/v1/snapshots?vault_id=${vaultId}`, { headers: office.auth });
  const [snapshot] = (list.json as { data: readonly { id: string }[] }).data;
  await visit(dashboard, `/app/snapshots/${snapshot?.id}`);
  await page.getByText("U+202E").first().waitFor();
  await page.getByText("<img src=").first().waitFor();
  await assertHarmless(dashboard, "snapshot");
  await page.locator(".tree-box").getByText("<img src=").last().click();
  await page.getByText("Sürümler").waitFor();
  await assertHarmless(dashboard, "file");
  assertClean(dashboard, "names");
});

/** Every text in an answer that people or machines chose, as the attacker would have it. */
const chosenTexts = new Set([
  ...["name", "full_name", "company_name", "description", "label", "reason", "note", "person", "detail", "title"],
  ...["host", "subject", "decision_reason", "email"],
]);

function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return chosenTexts.has(key) ? hostile : value;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]));
}

async function poison(page: Page): Promise<void> {
  await page.route(/\/v1\/(?!auth|events)/, async (route) => {
    const answer = await route.fetch();
    const type = answer.headers()["content-type"] ?? "";
    if (!type.includes("json")) return route.fulfill({ response: answer });
    return route.fulfill({ response: answer, json: poisoned(await answer.json()) });
  });
}

test("whatever the service answers is text: names, descriptions, answers of webhooks, problems", async () => {
  if (dashboard === undefined) return;
  const { page } = dashboard;
  const webhook = await service.send("POST", "/v1/webhooks", {
    json: { url: "https://alici.example/emanet", events: ["*"], description: "Köprü" },
    headers: office.auth,
  });
  assert.equal(webhook.status, 201, webhook.body.toString());
  await service.send("POST", `/v1/webhooks/${webhook.json?.id}/test`, { json: {}, headers: office.auth });
  await poison(page);
  for (const place of [...places, `/app/webhooks/${webhook.json?.id}`]) {
    await visit(dashboard, place);
    await page.getByText("U+202E").first().waitFor();
    await assertHarmless(dashboard, place);
  }
  await page.unrouteAll({ behavior: "ignoreErrors" });
  // A problem, as an attacker in the middle of a proxy would write it.
  await page.route(/\/v1\/webhooks/, (route) =>
    route.fulfill({
      status: 422,
      contentType: "application/problem+json",
      body: JSON.stringify({
        ...{ type: "https://emanet.example/problems/validation_failed", title: hostile, status: 422 },
        ...{ detail: hostile, code: "state_conflict", request_id: hostile, errors: [] },
      }),
    }),
  );
  await page.goto(`${service.url}/app/webhooks`);
  await page.getByRole("alert").getByText("<img src=").first().waitFor();
  await assertHarmless(dashboard, "problem");
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("another site cannot show the page in a frame", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  for (const path of ["/", "/app/settings"]) {
    const { headers } = await service.send("GET", path);
    assert.match(headers["content-security-policy"] ?? "", /frame-ancestors 'none'/);
    assert.match(headers["content-security-policy"] ?? "", /require-trusted-types-for 'script'/);
  }
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  t.after(() => context.close());
  const page = await context.newPage();
  // The policy names no ancestor at all, so not even a page of the same origin may show it.
  const framing = `${service.url}/framing`;
  await page.route(framing, (route) =>
    route.fulfill({ contentType: "text/html", body: `<iframe src="${service.url}/"></iframe>` }),
  );
  const blocked = page.waitForEvent("requestfailed", (request) => request.url() === `${service.url}/`);
  await page.goto(framing);
  assert.match((await blocked).failure()?.errorText ?? "", /ERR_BLOCKED_BY_RESPONSE/);
  assert.equal(await page.frameLocator("iframe").locator("#app").count(), 0);
});

test("the token is in the memory of the page alone: not in storage, cookies, addresses, caches or the log", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const opened = await openDashboard(browser, office);
  const { page } = opened;
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url()));
  await page.goto(service.url);
  const answered = page.waitForResponse((response) => response.url().endsWith("/v1/auth/login"));
  await signIn(page, office);
  const { access_token: token } = (await (await answered).json()) as { access_token: string };
  await page.getByRole("heading", { name: /yedeklendi/ }).waitFor();
  await visit(opened, "/app/audit");
  const kept = await page.evaluate<string>(`(async () => JSON.stringify([
    location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, history.state,
    await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML,
  ]))()`);
  const signature = token.split(".").at(-1) ?? "";
  assert.ok(signature.length > 20);
  for (const place of [kept, addresses.join("\n"), service.logLines.join("\n")]) {
    assert.equal(place.includes(signature), false);
  }
});

test("a viewer's page that calls an owner's operations gets 403 for each, and nothing has changed", async (t) => {
  const browser = await browserFor(t);
  if (browser === undefined) return;
  const viewer = await openAs(browser, office, { role: "viewer" });
  const owner = await tokenFor(service, { accountId: office.accountId });
  const vaults = await service.send("GET", "/v1/vaults", { headers: owner.auth });
  const [vault] = (vaults.json as { data: readonly { id: string }[] }).data;
  const before = await service.send("GET", "/v1/account", { headers: owner.auth });
  const asked = viewer.page.waitForRequest((request) => request.headers().authorization !== undefined);
  await viewer.page.goto(service.url);
  const { authorization } = (await asked).headers();
  const call = (method: string, path: string, body: unknown) =>
    viewer.page.evaluate<number>(`fetch(${JSON.stringify(path)}, {
      method: "${method}",
      headers: { authorization: ${JSON.stringify(authorization)}, "content-type": "application/json", "if-match": "*" },
      body: ${JSON.stringify(JSON.stringify(body))},
    }).then(({ status }) => status)`);
  const owners = [
    ["PATCH", "/v1/account", { name: "Ele geçirildi" }],
    ["POST", "/v1/members", { email: "kotu@ofis.example", full_name: "Kötü", role: "owner" }],
    ["PATCH", `/v1/members/${owner.personId}`, { role: "viewer" }],
    ["PUT", `/v1/vaults/${vault?.id}/retention`, { keep_last: 1 }],
    ["PATCH", `/v1/vaults/${vault?.id}`, { quota_bytes: 1 }],
    ["POST", "/v1/webhooks", { url: "https://kotu.example/", events: ["*"] }],
    ["POST", "/v1/audit/shares", { label: "Kötü", days: 1 }],
    ["POST", "/v1/admin/bans", { kind: "address", subject: "203.0.113.9", hours: 1, reason: "kötü" }],
  ] as const;
  for (const [method, path, body] of owners) assert.equal(await call(method, path, body), 403, `${method} ${path}`);
  const now = await service.send("GET", "/v1/account", { headers: owner.auth });
  assert.deepEqual(now.json, before.json);
});
