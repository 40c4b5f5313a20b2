import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("GET /v1/rate-limits/requests: only the account's own requests, newest first", async () => {
  const [one, other] = [await tokenFor(service), await tokenFor(service)];
  const path = "/v1/rate-limits/requests";
  for (const policy of ["snapshots_create", "package"]) {
    const json = { policy, limit: 50, window_s: 60, reason: "for a test" };
    assert.equal((await service.send("POST", path, { json, headers: one.auth })).status, 201);
    service.clock.advance(1_000);
  }
  const list = async (query: string, auth: Record<string, string>) => {
    const { data, next_cursor } =
      (await service.send("GET", `${path}${query}`, { headers: auth })).json ?? assert.fail();
    return { policies: (data as { policy: string }[]).map((row) => row.policy), cursor: next_cursor };
  };
  const newest = await list("?limit=1", one.auth);
  assert.deepEqual(newest.policies, ["package"]);
  assert.deepEqual((await list(`?limit=1&cursor=${newest.cursor}`, one.auth)).policies, ["snapshots_create"]);
  assert.deepEqual((await list("", other.auth)).policies, []);
});
