import assert from "node:assert/strict";
import { after, test } from "node:test";
import { settledMessages } from "../../testing/sent-messages.ts";
import { hourMs, kitTest } from "../testing.ts";

const env = await kitTest({ after });
const download = (id: string, headers?: Readonly<Record<string, string>>) =>
  env.call("POST", `/v1/recovery-kits/${id}/download`, headers);

test("409 a second before 24 hours have passed, 200 after them, once; owners are mailed again", async () => {
  const id = await env.order();
  env.service.clock.advance(24 * hourMs - 1000);
  assert.equal((await download(id)).json?.code, "state_conflict");
  env.service.clock.advance(1000);
  const answers = await Promise.all([download(id), download(id)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  const kit = answers.find(({ status }) => status === 200);
  assert.deepEqual([kit?.json?.vault_id, kit?.headers["cache-control"]], [env.vaultId, "no-store"]);
  const mails = (await settledMessages(env.service)).filter(({ text }) => text.includes(id));
  assert.ok(new Set(mails.map(({ subject }) => subject)).size === 2);
  const text = kit?.body.toString() ?? "";
  const stored = await env.rows("select 1 from emanet.recovery_kits t where to_jsonb(t)::text like $1", [
    `%${(JSON.parse(text) as { key: string }).key.slice(0, 20)}%`,
  ]);
  assert.deepEqual(stored, []);
});

test("403 for a manager and without a fresh second factor; 409 after seven days", async () => {
  const id = await env.order();
  env.service.clock.advance(24 * hourMs);
  assert.equal((await download(id, await env.as({ role: "manager" }))).json?.code, "insufficient_role");
  const stale = await env.as({ role: "owner" });
  env.service.clock.advance(11 * 60_000);
  assert.equal((await download(id, stale)).json?.code, "step_up_required");
  env.service.clock.advance(7 * 24 * hourMs);
  assert.equal((await download(id)).json?.code, "state_conflict");
  assert.notEqual(await env.order(), id);
});
