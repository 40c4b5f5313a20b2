import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { makeClient } from "../testing.ts";

const service = await startTestService({ after });

test("owners and managers read a program; it has an ETag, and no secret", async () => {
  const owner = await tokenFor(service);
  const manager = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
  const { client, secret, target } = await makeClient(service, owner.auth);
  const read = await service.send("GET", target, { headers: manager.auth });
  assert.deepEqual([read.status, read.json], [200, client]);
  assert.ok(!read.body.includes(secret));
  const again = { ...manager.auth, "if-none-match": read.headers.etag ?? "" };
  assert.equal((await service.send("GET", target, { headers: again })).status, 304);
});
