import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startStaffBench } from "../../testing/staff.ts";

const { service, get } = await startStaffBench({ after });

interface Line {
  readonly kind: string;
  readonly chain: string;
  readonly seq: number;
}

const lines = (body: Buffer) =>
  body
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

test("staff export the platform's chain and an account's, and the account's trail says so", async () => {
  const owner = await tokenFor(service);
  await service.send("PATCH", "/v1/account", { json: { name: "Ad" }, headers: owner.auth });
  const platform = lines((await get("/audit/export")).body);
  assert.deepEqual(
    [...new Set(platform.filter(({ kind }) => kind === "record").map(({ chain }) => chain))],
    ["platform"],
  );
  const answer = await get(`/audit/export?chain=${owner.accountId}`);
  assert.deepEqual(
    lines(answer.body)
      .filter(({ kind }) => kind === "record")
      .map(({ chain, seq }) => [chain, seq]),
    [[owner.accountId, 1]],
  );
  const found = await service.send("GET", "/v1/audit/events?action=audit.exported", { headers: owner.auth });
  const [record] = listIn<{ actor: { kind: string }; person: null }>(found, "data");
  assert.deepEqual([record?.actor.kind, record?.person], ["staff", null]);
});

test("404: the chain of an account that does not exist; 403: a member", async () => {
  assert.equal((await get(`/audit/export?chain=${randomUUID()}`)).status, 404);
  const owner = await tokenFor(service);
  const refused = await service.send("GET", "/v1/admin/audit/export", { headers: owner.auth });
  assert.deepEqual([refused.status, refused.json?.code], [403, "admin_required"]);
});
