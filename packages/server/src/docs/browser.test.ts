import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { openBrowser, openPage } from "../testing/browser.ts";
import { needs } from "../testing/needs.ts";
import { type DocsPage, type DocsPages, docsPages } from "./index.ts";

test("/docs renders, stays at home, and its try-it sends a real request and shows the answer", async (t) => {
  const executable = needs(t, "chromium");
  if (executable === undefined) return;
  const site = await serve(docsPages({ openapi: specimen }));
  t.after(site.close);
  const browser = await openBrowser(t, executable);
  const { page, misdeeds } = await openPage(browser, site.origin);

  await page.goto(`${site.origin}/docs`);
  await page.getByRole("heading", { name: "Greeting service" }).waitFor();
  await tryGreeting(page, '{"name":"Ayşe"}');
  await page.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  await page.locator(".live-responses-table", { hasText: "Merhaba Ayşe" }).waitFor();
  assert.deepEqual(site.greetings, ['{"name":"Ayşe"}']);

  await page.goto(`${site.origin}/docs/errors/not_found`);
  await page.getByRole("heading", { name: "Bulunamadı" }).waitFor();
  assert.deepEqual(misdeeds, { complaints: [], foreign: [], failed: [] });
});

test("the record of misdeeds sees an inline script, a foreign request and a missing file", async (t) => {
  const executable = needs(t, "chromium");
  if (executable === undefined) return;
  const pages = docsPages({ openapi: specimen });
  const spoilt = `<!doctype html><link rel="icon" href="data:,"><script>1</script>
    <img src="https://elsewhere.invalid/a.png"><img src="/missing.png">`;
  const site = await serve({ ...pages, page: { ...pages.page, body: Buffer.from(spoilt) } });
  t.after(site.close);
  const browser = await openBrowser(t, executable);
  const { page, misdeeds } = await openPage(browser, site.origin);
  await page.goto(`${site.origin}/docs`, { waitUntil: "load" });
  assert.ok(misdeeds.complaints.some((text) => text.includes("Content Security Policy")));
  assert.deepEqual(misdeeds.foreign, ["https://elsewhere.invalid/a.png"]);
  assert.ok(misdeeds.failed.some((text) => text.endsWith("/missing.png 404")));
});

async function tryGreeting(page: Page, body: string): Promise<void> {
  await page.locator(".opblock-summary-control", { hasText: "/greetings" }).click();
  await page.getByRole("button", { name: "Try it out" }).click();
  await page.locator("textarea.body-param__text").fill(body);
  await page.getByRole("button", { name: "Execute" }).click();
}

/** Serves the pages and one operation, and remembers what was sent to it. */
async function serve(pages: DocsPages) {
  const greetings: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === "POST" && request.url === "/greetings") {
      void greet(request, response, greetings);
      return;
    }
    const page = find(pages, request.url ?? "");
    if (page === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": page.contentType, etag: page.etag, ...page.headers }).end(page.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${port}`, greetings, close };
}

async function greet(request: IncomingMessage, response: ServerResponse, greetings: string[]): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString("utf8");
  greetings.push(body);
  const { name } = JSON.parse(body) as { name: string };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: `Merhaba ${name}` }));
}

function find(pages: DocsPages, url: string): DocsPage | undefined {
  const [, , kind, name = ""] = url.split("/");
  if (url === "/docs") return pages.page;
  if (url === "/docs/json") return pages.json;
  if (kind === "assets") return pages.assets.get(name);
  return kind === "errors" ? [...pages.errors].find(([code]) => code === name)?.[1] : undefined;
}

const specimen = {
  openapi: "3.1.1",
  info: { title: "Greeting service", version: "1.0.0" },
  servers: [{ url: "/" }],
  paths: {
    "/greetings": {
      post: {
        operationId: "greetings.create",
        summary: "Greet a person",
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { type: "object", required: ["name"], properties: { name: { type: "string", maxLength: 40 } } },
            },
          },
        },
        responses: {
          "200": { description: "The greeting", content: { "application/json": { schema: { type: "object" } } } },
        },
      },
    },
  },
  webhooks: { "greeting.sent": { post: { responses: { "200": { description: "Taken" } } } } },
};
