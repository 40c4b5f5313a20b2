import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });

test("200: the account's shares, newest first, with those that have ended and without tokens", async () => {
  const [first, second, third] = [await env.share({ days: 1 }), await env.share(), await env.share()];
  await env.service.send("DELETE", `/v1/audit/shares/${second.id}`, { headers: await env.signIn() });
  env.service.clock.advance(24 * 60 * 60_000);
  const answer = await env.get("/v1/audit/shares");
  assert.deepEqual(
    listIn<{ id: string; status: string }>(answer, "data").map(({ id, status }) => [id, status]),
    [
      [third.id, "active"],
      [second.id, "revoked"],
      [first.id, "expired"],
    ],
  );
  assert.ok(!answer.body.includes("shr_"));
  const other = await tokenFor(env.service);
  const theirs = await env.service.send("GET", "/v1/audit/shares", { headers: other.auth });
  assert.deepEqual(listIn(theirs, "data"), []);
});
