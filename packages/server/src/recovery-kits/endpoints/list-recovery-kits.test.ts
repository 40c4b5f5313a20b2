import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { hourMs, kitTest } from "../testing.ts";

const env = await kitTest({ after });
const listed = async (headers?: Readonly<Record<string, string>>) =>
  listIn<{ id: string; state: string; ended_by: string | null }>(
    await env.call("GET", "/v1/recovery-kits", headers),
    "data",
  );

test("an order stays listed: waiting, ready, delivered; others do not see it", async () => {
  const id = await env.order();
  assert.deepEqual(
    (await listed()).map((one) => [one.id, one.state]),
    [[id, "waiting"]],
  );
  env.service.clock.advance(24 * hourMs);
  assert.equal((await listed())[0]?.state, "ready");
  assert.equal((await env.call("POST", `/v1/recovery-kits/${id}/download`)).status, 200);
  const [one] = await listed();
  assert.ok(one?.state === "delivered" && one.ended_by !== null);
  assert.deepEqual(await listed((await tokenFor(env.service, {})).auth), []);
  const manager = await env.call("GET", "/v1/recovery-kits", await env.as({ role: "manager" }));
  assert.equal(manager.json?.code, "insufficient_role");
});
