import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("every file that the documentation page loads is served and may be kept for ever", async () => {
  const page = (await service.send("GET", "/docs")).body.toString();
  const paths = [...page.matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  assert.ok(paths.length >= 3);
  for (const path of paths) {
    const { status, headers } = await service.send("GET", path);
    assert.deepEqual([status, headers["cache-control"]], [200, "public, max-age=31536000, immutable"], path);
  }
});
