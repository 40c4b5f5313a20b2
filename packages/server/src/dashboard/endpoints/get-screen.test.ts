import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("every address under /app is the page, with any filters; other addresses stay problems", async () => {
  const home = (await service.send("GET", "/")).body.toString();
  for (const path of ["/app/taxpayers", "/app/taxpayers?state=failed&q=%C4%B1", "/app/snapshots/1/a%2Fb"]) {
    const { status, body } = await service.send("GET", path);
    assert.deepEqual([status, body.toString() === home], [200, true], path);
  }
  assert.equal((await service.send("GET", "/apps")).json?.code, "not_found");
  assert.equal((await service.send("POST", "/app/taxpayers")).json?.code, "method_not_allowed");
});
