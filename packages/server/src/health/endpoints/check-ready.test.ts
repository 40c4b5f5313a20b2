import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../testing/cleanup.ts";
import { testDatabase } from "../../testing/database.ts";
import { startDatabaseProxy } from "../../testing/database-proxy.ts";
import { startTestService, type TestService } from "../../testing/running.ts";

const application = {
  kind: "company",
  full_name: "Ayşe Örnek",
  email: "ayse@ornek.example",
  phone: "05320000000",
  company_name: "Örnek A.Ş.",
  tax_id: "1234567808",
  package: "starter",
  consents: { terms: true, privacy: true },
};

test("200 while the database answers; 503 with Retry-After while it is gone or silent; 200 again when it is back", async (t) => {
  const cleanup = inReverse(t);
  const proxy = await startDatabaseProxy(cleanup, await testDatabase(cleanup));
  const service = await startTestService(cleanup, { database: proxy.database });
  assert.deepEqual((await service.send("GET", "/health/ready")).json, { status: "ok" });
  for (const state of ["shut", "silent"] as const) {
    await proxy.turn(state);
    const { status, json, headers } = await service.send("GET", "/health/ready");
    assert.deepEqual([status, json?.code], [503, "unavailable"], state);
    assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
    if (state === "shut") {
      const write = await service.send("POST", "/applications", { json: application, http2: true });
      assert.deepEqual([write.status, write.json?.code], [503, "unavailable"]);
    }
    await proxy.turn("open");
    await until(async () => (await service.send("GET", "/health/ready")).status === 200, `ready again after ${state}`);
  }
  assert.equal((await service.send("POST", "/applications", { json: application })).status, 202);
  await until(async () => (await outbox(service)).length === 2, "the worker has come back too");
  const reports = service.logLines.filter(
    (line) => line.includes('"request_failed"') && line.includes('"level":"error"'),
  );
  assert.ok(reports.length > 0, "each is in the log");
});

async function outbox({ dataDir }: TestService): Promise<string[]> {
  const files = await readdir(path.join(dataDir, "outbox")).catch(() => []);
  return files.filter((name) => name.endsWith(".json"));
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    if (await condition()) return;
    await delay(100);
  }
  assert.fail(`not in time: ${what}`);
}
