import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { makeClient } from "../testing.ts";

const service = await startTestService({ after });

test("changes what is sent and nothing else; an old ETag is refused", async () => {
  const { auth } = await tokenFor(service);
  const { target } = await makeClient(service, auth, { scopes: ["snapshots:read", "audit:read"] });
  const { headers: before } = await service.send("GET", target, { headers: auth });
  const headers = { ...auth, "if-match": before.etag ?? "" };
  const vault = "0199c0de-0000-7000-8000-00000000beef";
  const json = { scopes: ["audit:read"], vault_ids: [vault] };
  const narrowed = await service.send("PATCH", target, { json, headers });
  const { scopes, vault_ids, name } = narrowed.json ?? {};
  assert.deepEqual({ scopes, vault_ids, name }, { ...json, name: "Gece yedeği" });
  const again = await service.send("PATCH", target, { json: { name: "Başka" }, headers });
  assert.equal(again.json?.code, "precondition_failed");
});
