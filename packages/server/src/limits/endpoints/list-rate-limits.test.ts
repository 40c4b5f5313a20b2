import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { limitedEndpoints } from "../../testing/limited.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });

interface Shown {
  readonly policy: string;
  readonly limit: number;
  readonly window_s: number;
  readonly remaining: number;
  readonly mode: string;
  readonly custom: boolean;
}

async function limitsOf(auth: Record<string, string>): Promise<Map<string, Shown>> {
  const answer = await service.send("GET", "/v1/rate-limits", { headers: auth });
  assert.equal(answer.status, 200, JSON.stringify(answer.json));
  const { data } = answer.json ?? assert.fail();
  return new Map((data as Shown[]).map((one) => [one.policy, one]));
}

describe("GET /v1/rate-limits", () => {
  test("200: every limit that counts by account, with what is left; asking spends nothing", async () => {
    const { auth } = await tokenFor(service, { package: "professional" });
    for (let count = 0; count < 3; count++) await service.send("GET", "/v1/test-snapshots", { headers: auth });
    for (let asked = 0; asked < 5; asked++) await limitsOf(auth);
    const limits = await limitsOf(auth);
    assert.deepEqual([...limits.keys()].sort(), [
      ...["audit_export", "package", "restore_create", "snapshots_create", "snapshots_create_hour"],
      ...["snapshots_list", "snapshots_verify", "token", "webhook_sends", "webhook_verify_debug"],
    ]);
    assert.equal(limits.get("snapshots_list")?.remaining, 57);
    const { limit, window_s, remaining, mode } = limits.get("package") ?? assert.fail();
    assert.deepEqual(
      { limit, window_s, remaining, mode },
      { limit: 500, window_s: 100, remaining: 497, mode: "enforce" },
    );
  });

  test("200 also when the package's limit is used up", async () => {
    const { auth } = await tokenFor(service, { package: "starter" });
    for (let count = 0; count < 100; count++) await service.send("GET", "/v1/account", { headers: auth });
    assert.equal((await service.send("GET", "/v1/account", { headers: auth })).status, 429);
    assert.equal((await limitsOf(auth)).get("package")?.remaining, 0);
  });
});
