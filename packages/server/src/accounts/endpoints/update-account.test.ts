import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("PATCH changes what is sent, raises the version, and refuses an old ETag", async () => {
  const { auth } = await tokenFor(service);
  const before = await service.send("GET", "/v1/account", { headers: auth });
  const headers = { ...auth, "if-match": before.headers.etag ?? "" };
  const json = { name: "Yeni Ad", sms_sign_in: false };
  const changed = await service.send("PATCH", "/v1/account", { json, headers });
  assert.deepEqual([changed.status, changed.json?.name, changed.json?.version], [200, "Yeni Ad", 2]);
  const again = await service.send("PATCH", "/v1/account", { json: { name: "Başka" }, headers });
  assert.equal(again.json?.code, "precondition_failed");
});
