import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("every file that the page names is served, compressed, and may be kept for ever", async () => {
  const page = (await service.send("GET", "/")).body.toString();
  const paths = [...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  assert.ok(paths.length >= 5);
  for (const path of paths) {
    const { status, headers } = await service.send("GET", path, { headers: { "accept-encoding": "br" } });
    assert.deepEqual([status, headers["cache-control"]], [200, "public, max-age=31536000, immutable"], path);
    if (/main\..*\.(?:js|css)$/.test(path)) assert.equal(headers["content-encoding"], "br", path);
  }
});

test("404: a file that the build does not have, and a path out of its folder", async () => {
  for (const path of ["/assets/none.js", "/assets/..%2fcurrent", "/assets/index.html"]) {
    assert.match(String((await service.send("GET", path)).json?.code), /^(?:not_found|validation_failed)$/, path);
  }
});
