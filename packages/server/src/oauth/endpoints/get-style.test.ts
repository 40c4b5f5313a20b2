import assert from "node:assert/strict";
import { after, test } from "node:test";
import { stylePath } from "../../pages/index.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the style sheet is served as CSS and loads nothing itself", async () => {
  const { status, headers, body } = await service.send("GET", stylePath);
  assert.deepEqual([status, headers["content-type"]], [200, "text/css; charset=utf-8"]);
  assert.doesNotMatch(body.toString(), /url\(|@import/);
});
