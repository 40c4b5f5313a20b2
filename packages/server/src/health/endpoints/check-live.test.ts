import assert from "node:assert/strict";
import { test } from "node:test";
import { inReverse } from "../../testing/cleanup.ts";
import { testDatabase } from "../../testing/database.ts";
import { startDatabaseProxy } from "../../testing/database-proxy.ts";
import { startTestService } from "../../testing/running.ts";

test("200 as long as the process runs, for anybody, over both versions of HTTP, whatever the database does", async (t) => {
  const cleanup = inReverse(t);
  const proxy = await startDatabaseProxy(cleanup, await testDatabase(cleanup));
  const service = await startTestService(cleanup, { database: proxy.database });
  for (const state of ["open", "shut", "silent"] as const) {
    await proxy.turn(state);
    for (const http2 of [false, true]) {
      const { status, json } = await service.send("GET", "/health/live", { http2 });
      assert.deepEqual([status, json], [200, { status: "ok" }], state);
    }
  }
  await proxy.turn("open");
});
