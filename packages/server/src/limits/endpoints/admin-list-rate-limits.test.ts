import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { limitedEndpoints } from "../../testing/limited.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });

const staff = await tokenFor(service, { as: "staff" });

const read = (path: string) => service.send("GET", `/v1/admin${path}`, { headers: staff.auth });

test("GET /v1/admin/rate-limits: the accounts nearest to a limit come first", async () => {
  const { auth, accountId } = await tokenFor(service);
  for (let count = 0; count < 9; count++) await service.send("POST", "/v1/test-snapshots", { headers: auth });
  const { data } = (await read("/rate-limits")).json ?? assert.fail();
  const [first] = data as Record<string, unknown>[];
  const { account_id, policy, remaining, used_percent } = first ?? {};
  assert.deepEqual(
    { account_id, policy, remaining, used_percent },
    { account_id: accountId, policy: "snapshots_create", remaining: 1, used_percent: 90 },
  );
});
