import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openBrowser, openPage } from "../../testing/browser.ts";
import { needs } from "../../testing/needs.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("an ETag that the client has gets 304 and no body", async () => {
  for (const path of ["/docs", "/docs/json", "/docs/yaml", "/docs/errors"]) {
    const first = await service.send("GET", path);
    const again = await service.send("GET", path, { headers: { "if-none-match": first.headers.etag ?? "" } });
    assert.deepEqual([first.status, again.status, again.body.length], [200, 304, 0]);
    assert.equal(again.headers.etag, first.headers.etag);
  }
});

test("in a browser /docs renders without an error or a foreign request, and try-it shows the service's own answer", async (t) => {
  const executable = needs(t, "chromium");
  if (executable === undefined) return;
  const browser = await openBrowser(t, executable);
  const { page, misdeeds } = await openPage(browser, service.url);
  await page.goto(`${service.url}/docs`);
  await page.getByRole("heading", { name: "Emanet API" }).waitFor();
  await page.getByRole("button", { name: /^POST \/applications / }).click();
  await page.getByRole("button", { name: "Try it out" }).click();
  await page.getByRole("button", { name: "Execute" }).click();
  await page.locator(".live-responses-table .response-col_status", { hasText: "202" }).waitFor();
  await page.locator(".live-responses-table", { hasText: "submitted" }).first().waitFor();
  assert.deepEqual(misdeeds, { complaints: [], foreign: [], failed: [] });
});
