/** What an older database has given to somebody ends with `recover`, and what waited in it waits again. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endWhatWasGiven } from "../../packages/server/src/recovery/ended-store.ts";
import { retentionTest } from "../../packages/server/src/retention/testing.ts";
import { messageTo, tokenIn } from "../../packages/server/src/testing/sent-messages.ts";

const env = await retentionTest({ after });

test("tokens, links, shares and codes are refused; the 72 hours of acts and the 24 of kits begin again", async () => {
  const { service } = env;
  const id = await env.backUp("defter", { "a.txt": "merhaba" });
  const made = async (path: string, json: object) => {
    const answer = await env.call("POST", path, json);
    assert.ok(answer.status < 300, `${path}: ${answer.body}`);
    return answer.json ?? {};
  };
  const { url } = await made(`/v1/snapshots/${id}/download-link`, { path: "a.txt" });
  const download = () => service.send("GET", new URL(String(url)).pathname);
  const { token } = await made("/v1/audit/shares", { label: "denetçi" });
  const shared = () =>
    service.send("GET", "/v1/audit/shared/events", { headers: { authorization: `Bearer ${String(token)}` } });
  await made(`/v1/vaults/${env.vaultId}/recovery-kits`, {});
  assert.equal((await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { keep_last: 1 })).status, 202);
  const [owner] = await env.rows<{ email: string }>(
    "select email from emanet.people where account_id = $1 and role = 'owner' order by created_at limit 1",
    [env.accountId],
  );
  await service.send("POST", "/v1/auth/password-reset/request", { json: { email: owner?.email } });
  const reset = tokenIn(await messageTo(service.dataDir, String(owner?.email), "password_reset"));
  const person = await env.owner();
  const program = await env.client();
  const account = (headers: Readonly<Record<string, string>>) => service.send("GET", "/v1/account", { headers });
  const answers = async () => {
    const all = [await download(), await shared(), await account(person), await account(program)];
    return all.map(({ status }) => status);
  };
  assert.deepEqual(await answers(), [200, 200, 200, 200]);
  // The dump is of long ago.
  await env.rows("update emanet.pending_acts set due_at = now() - interval '1 day'");
  await env.rows("update emanet.recovery_kits set ready_at = now() - interval '1 day'");

  await endWhatWasGiven(service.database.owner, new Date());
  // The running service learns of it by a notice of the database.
  for (const headers of [person, program])
    await env.until(async () => ((await account(headers)).status === 401 ? true : null));
  assert.deepEqual(await answers(), [404, 410, 401, 401]);
  const used = { json: { token: reset, new_password: "turuncu defter yedi deniz" } };
  assert.equal((await service.send("POST", "/v1/auth/password-reset", used)).status, 404);
  const waits = await env.rows(
    `select floor(extract(epoch from due_at - now()) / 3600)::int + 1 as hours from emanet.pending_acts where state = 'waiting'
     union all select floor(extract(epoch from ready_at - now()) / 3600)::int + 1 from emanet.recovery_kits where state = 'waiting'`,
  );
  assert.deepEqual(waits, [{ hours: 72 }, { hours: 24 }]);
});

test("device codes, grants, codes by SMS and known devices of the dump are gone", async () => {
  const person = "select id from emanet.people where account_id = $1 limit 1";
  const times = "now(), now() + interval '1 hour'";
  const hash = "sha256('x')";
  await env.rows(
    `insert into emanet.oauth_artifacts (kind, id_hash, sealed_payload, created_at, expires_at) values ('DeviceCode', ${hash}, 'x', ${times})`,
  );
  await env.rows(
    `insert into emanet.otp_challenges (id, account_id, person_id, purpose, code_hash, tries_left, created_at, expires_at)
     values (gen_random_uuid(), $1, (${person}), 'sign_in', ${hash}, 5, ${times})`,
    [env.accountId],
  );
  await env.rows(
    `insert into emanet.devices (token_hash, person_id, account_id, created_at, last_used_at) values (${hash}, (${person}), $1, ${times})`,
    [env.accountId],
  );
  await endWhatWasGiven(env.service.database.owner, new Date());
  for (const table of ["oauth_artifacts", "otp_challenges", "devices"])
    assert.deepEqual(await env.rows(`select from emanet.${table}`), [], table);
});
