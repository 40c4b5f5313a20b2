import assert from "node:assert/strict";
import { after, test } from "node:test";
import { dayMs, type ErasureTest, erasureTest, tablesWith } from "../erasures/testing.ts";
import { auditOf, runTask } from "../snapshots/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { eraseAccounts, proofsReadableMs } from "./erase-accounts.ts";

const word = "gizlikisi";

async function name(env: ErasureTest, personId: string | null): Promise<void> {
  await env.rows(
    "update emanet.people set full_name = $2, email = $3, email_key = $3, phone = '+905550000000' where id = $1",
    [personId, `Ada ${word}`, `${personId}.${word}@test.example`],
  );
}

const peopleOf = async (env: ErasureTest, id: string | null) =>
  (
    await env.rows<{ state: string; full_name: string }>("select state, full_name from emanet.people where id = $1", [
      id,
    ])
  )[0];

test("people of an erased account: members go with its last vault, owners 30 days later with all names; other accounts keep theirs", async () => {
  const env = await erasureTest({ after });
  const { service, accountId } = env;
  await env.rows("update emanet.jobs set run_at = 'infinity' where task = 'audit.erase_accounts'");
  const [owner, manager, elsewhere] = [
    await tokenFor(service, { accountId, role: "owner" }),
    await tokenFor(service, { accountId, role: "manager" }),
    await tokenFor(service, { role: "owner" }),
  ];
  for (const { personId } of [owner, manager]) await name(env, personId);
  await env.rows("update emanet.people set full_name = 'Başka Kişi' where id = $1", [elsewhere.personId]);
  await env.rows("update emanet.accounts set name = $2, tax_id = '4540536920' where id = $1", [
    accountId,
    `Ofis ${word}`,
  ]);
  assert.equal(
    (await env.call("POST", "/v1/webhooks", { url: `https://${word}.example/h`, events: ["*"] })).status,
    201,
  );
  await env.backUpInto(env.vaultId, "defter", { f: "1" });
  await env.closeAccount();
  env.wait(90 * dayMs);
  await env.erase(env.vaultId);
  await runTask(env, eraseAccounts, {});
  assert.equal((await peopleOf(env, manager.personId))?.state, "active", "a vault is left");
  await env.erase(env.defaultVault);
  await runTask(env, eraseAccounts, {});
  assert.deepEqual(await peopleOf(env, manager.personId), { state: "removed", full_name: "erased" });
  assert.deepEqual(await env.rows("select from emanet.credentials where person_id = $1", [manager.personId]), []);
  assert.equal((await peopleOf(env, owner.personId))?.state, "active");
  const asOwner = async () => (await env.as({ personId: owner.personId ?? "" })) as { authorization: string };
  assert.equal((await env.call("GET", "/v1/erasures", undefined, await asOwner())).status, 200);

  env.wait(proofsReadableMs - 60_000);
  await runTask(env, eraseAccounts, {});
  assert.equal((await peopleOf(env, owner.personId))?.state, "active");
  const last = await asOwner();
  env.wait(60_000);
  await runTask(env, eraseAccounts, {});
  assert.deepEqual(await peopleOf(env, owner.personId), { state: "removed", full_name: "erased" });
  assert.equal((await env.call("GET", "/v1/erasures", undefined, last)).status, 401);
  assert.deepEqual([await tablesWith(service, word), await tablesWith(service, "4540536920")], [[], []]);
  assert.ok((await auditOf(env)).some((each) => each.startsWith("account.erased")));
  assert.deepEqual(await peopleOf(env, elsewhere.personId), { state: "active", full_name: "Başka Kişi" });
  const [count] = await env.rows("select count(*)::int as count from emanet.erasures where account_id = $1", [
    accountId,
  ]);
  assert.deepEqual(count, { count: 2 });
  // A repetition finds nothing to do.
  const before = (await auditOf(env)).length;
  await runTask(env, eraseAccounts, {});
  assert.equal((await auditOf(env)).length, before);
});

test("a closed account whose vault is kept, and one that is only closed, keep their people", async () => {
  const env = await erasureTest({ after });
  await env.rows("update emanet.jobs set run_at = 'infinity' where task = 'audit.erase_accounts'");
  const manager = await tokenFor(env.service, { accountId: env.accountId, role: "manager" });
  const kept = await env.backUpInto(env.vaultId, "defter", { f: "1" });
  await env.closeAccount();
  const until = new Date(env.service.clock.now().getTime() + 300 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${kept}/lock`, { locked_until: until })).status, 200);
  env.wait(150 * dayMs);
  for (const id of [env.vaultId, env.defaultVault]) await env.erase(id);
  assert.equal(await env.erasure(env.defaultVault), undefined, "its chain has the closing, so it is the last");
  await runTask(env, eraseAccounts, {});
  assert.equal((await peopleOf(env, manager.personId))?.state, "active");
});
