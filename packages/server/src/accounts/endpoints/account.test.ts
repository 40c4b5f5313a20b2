import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);

describe("/v1/account", () => {
  test("200: package, entitlements and state; the tax number is masked", async () => {
    const answer = await service.send("GET", "/v1/account", { headers: owner.auth });
    assert.equal(answer.status, 200);
    assert.deepEqual(
      [answer.json?.package, answer.json?.entitlements, answer.json?.state, answer.json?.tax_id],
      ["corporate", ["api"], "active", "******7808"],
    );
  });

  test("PATCH changes what is sent, raises the version, and refuses an old ETag", async () => {
    const before = await service.send("GET", "/v1/account", { headers: owner.auth });
    const headers = { ...owner.auth, "if-match": before.headers.etag ?? "" };
    const changed = await service.send("PATCH", "/v1/account", {
      json: { name: "Yeni Ad", sms_sign_in: false },
      headers,
    });
    assert.deepEqual([changed.status, changed.json?.name, changed.json?.version], [200, "Yeni Ad", 2]);
    const again = await service.send("PATCH", "/v1/account", { json: { name: "Başka" }, headers });
    assert.equal(again.json?.code, "precondition_failed");
  });
});
