import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("200: package, entitlements and state; the tax number is masked", async () => {
  const owner = await tokenFor(service);
  const { status, json } = await service.send("GET", "/v1/account", { headers: owner.auth });
  assert.equal(status, 200);
  assert.deepEqual(
    [json?.id, json?.package, json?.entitlements, json?.state, json?.tax_id],
    [owner.accountId, "corporate", ["api"], "active", "******7808"],
  );
});
