import assert from "node:assert/strict";
import { after, test } from "node:test";
import { settledMessages } from "../../testing/sent-messages.ts";
import { hourMs, kitTest } from "../testing.ts";

const env = await kitTest({ after });
const path = `/v1/vaults/${env.vaultId}/recovery-kits`;

test("202 with an order that waits 24 hours; a repetition answers the same one; every owner is mailed once", async () => {
  const id = await env.order();
  assert.equal(await env.order(), id);
  const [row] = await env.rows<{ created_at: Date; ready_at: Date }>(
    "select created_at, ready_at from emanet.recovery_kits where id = $1",
    [id],
  );
  assert.equal(Number(row?.ready_at) - Number(row?.created_at), 24 * hourMs);
  const mails = (await settledMessages(env.service)).filter(({ text }) => text.includes(id));
  const [{ count } = { count: 0 }] = await env.rows<{ count: number }>(
    "select count(*)::int as count from emanet.people where account_id = $1 and role = 'owner' and created_at <= $2",
    [env.accountId, row?.created_at],
  );
  assert.ok(mails.length > 0 && mails.length <= count, `${mails.length} of ${count}`);
  assert.ok((await env.rows("select from emanet.audit_records where action = 'recovery_kit.ordered'")).length === 1);
});

test("403 for managers, programs, and without a fresh second factor; 404 for no vault", async () => {
  assert.equal((await env.call("POST", path, await env.as({ role: "manager" }))).json?.code, "insufficient_role");
  assert.equal((await env.call("POST", path, env.auth)).json?.code, "insufficient_scope");
  const stale = await env.as({ role: "owner" });
  env.service.clock.advance(11 * 60_000);
  assert.equal((await env.call("POST", path, stale)).json?.code, "step_up_required");
  const unknown = "/v1/vaults/0199c0de-0000-7000-8000-00000000dead/recovery-kits";
  assert.equal((await env.call("POST", unknown)).status, 404);
});

test("orders at the same time are one order", async () => {
  env.service.clock.advance(40 * 24 * hourMs);
  const owner = await env.as({ role: "owner" });
  const answers = await Promise.all(Array.from({ length: 4 }, () => env.call("POST", path, owner)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 202, 202, 202],
  );
  assert.equal(new Set(answers.map(({ json }) => json?.id)).size, 1);
});
