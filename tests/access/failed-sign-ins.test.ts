/** Failed sign-ins are recorded in the audit trail of the account that they were aimed at, without cost for others. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  addClient,
  authorizePath,
  basic,
  CookieJar,
  callback,
  fieldOf,
  locationOf,
  pkce,
  post,
  roomyLimits,
  siteOf,
} from "../../packages/server/src/oauth/testing.ts";
import { firstBadRecord, readChain } from "../../packages/server/src/testing/audit-chain.ts";
import { readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { settledMessages } from "../../packages/server/src/testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: roomyLimits });
const { demo, staff } = await readFirstRun(service.dataDir);
const unknownEmail = "nobody@unknown.example";
const wrongCode = "aaaaa-bbbbb";
const wrongPassword = "not the password";

const logIn = (email: string, password: string, totp_code = wrongCode, more: object = {}) =>
  service.send("POST", "/v1/auth/login", { json: { email, password, totp_code, ...more } });

interface Failure {
  readonly action: string;
  readonly operation: string;
  readonly wrong: unknown;
}

/** The records that these requests add to a chain. Verifies the whole chain. */
async function addedTo(chain: string, acts: () => Promise<unknown>): Promise<Failure[]> {
  const before = (await readChain(service.database.app, chain)).length;
  await acts();
  await settledMessages(service);
  const all = await readChain(service.database.app, chain);
  assert.equal(firstBadRecord(all), null);
  return all.slice(before).flatMap((row) => {
    if (row.outcome !== "failure") return [];
    const context = row.context as Record<string, string>;
    assert.equal(context.address, "127.0.0.0/24");
    assert.match(context.request_id ?? "", /^[0-9a-f-]{36}$/);
    assert.doesNotMatch(JSON.stringify(row), /@|127\.0\.0\.1/, "only ids and the network, no personal data");
    const { wrong } = row.metadata as { wrong?: unknown };
    return [{ action: row.action, operation: String(context.operation), wrong }];
  });
}

describe("a failed sign-in is recorded in the account's own chain", () => {
  test("for a wrong password, code, recovery code or SMS code, and says which was wrong", async () => {
    const added = await addedTo(demo.account_id, async () => {
      assert.equal((await logIn(demo.email, wrongPassword)).status, 401);
      assert.equal((await logIn(demo.email, demo.password)).status, 401);
      assert.equal((await logIn(demo.email, demo.password, "000000")).status, 401);
      const json = { email: demo.email, password: wrongPassword };
      const asked = await service.send("POST", "/auth/sms-otp/request", { json });
      assert.equal(asked.status, 202);
      const challenge = { otp_challenge_id: asked.json?.challenge_id };
      assert.equal((await logIn(demo.email, demo.password, "000000", challenge)).status, 401);
    });
    const shown = added.map(({ action, operation, wrong }) => `${action} ${operation} ${wrong}`).sort();
    assert.deepEqual(shown, [
      "sign_in.failed auth.login code",
      "sign_in.failed auth.login code",
      "sign_in.failed auth.login code",
      "sign_in.failed auth.login password",
      "sign_in.failed auth.request_sms_code password",
    ]);
  });

  test("for the OAuth pages and for the first sign-in", async () => {
    const site = siteOf(service);
    const grants = ["authorization_code"];
    const client = await addClient(service, { accountId: demo.account_id, grants, redirectUris: [callback] });
    const jar = new CookieJar(site);
    const path = locationOf(await jar.get(authorizePath(client, pkce().challenge)));
    const credentials = { email: demo.email, password: wrongPassword, totp_code: wrongCode };
    const added = await addedTo(demo.account_id, async () => {
      await jar.post(path, { csrf: fieldOf(await jar.get(path), "csrf"), act: "sign_in", ...credentials });
      await post(site, "/enrol/sign-in", credentials);
    });
    const shown = added.map(({ action, operation }) => `${action} ${operation}`).sort();
    assert.deepEqual(shown, ["sign_in.failed enrolment.sign_in", "sign_in.failed oauth.act_on_interaction"]);
  });

  test("for a step-up and for a password change", async () => {
    const { auth } = await signInAs(service, demo);
    const call = (target: string, json: object) => service.send("POST", target, { json, headers: auth });
    const added = await addedTo(demo.account_id, async () => {
      assert.equal((await call("/v1/auth/step-up", { totp_code: wrongCode })).status, 401);
      const passwords = { current_password: wrongPassword, new_password: "yedi turuncu fener" };
      assert.equal((await call("/v1/me/password", passwords)).status, 401);
    });
    assert.deepEqual(
      added.map(({ action }) => action),
      ["person.step_up_failed", "person.password_change_failed"],
    );
  });

  test("for a client with a wrong secret, at each OAuth endpoint; a hundred a day, and the client is not locked out", async () => {
    const site = siteOf(service);
    const client = basic(demo.client_id, "ems_wrong");
    const token = (headers: Record<string, string>) =>
      post(site, "/oauth2/token", { grant_type: "client_credentials" }, headers);
    const few = await addedTo(demo.account_id, async () => {
      assert.equal((await token(client)).status, 401);
      assert.equal((await post(site, "/oauth2/introspect", { token: "x" }, client)).status, 401);
      assert.equal((await post(site, "/oauth2/revoke", { token: "x" }, client)).status, 401);
    });
    const failed = "oauth_client.authentication_failed";
    assert.deepEqual(
      few.map(({ action, operation }) => `${action} ${operation}`),
      [`${failed} oauth.token`, `${failed} oauth.introspect`, `${failed} oauth.revoke`],
    );
    const many = await addedTo(demo.account_id, async () => {
      for (let at = 0; at < 110; at++) assert.equal((await token(client)).status, 401);
      assert.equal((await token(basic(demo.client_id, demo.client_secret))).status, 200);
    });
    assert.equal(many.length, 97);
    service.clock.advance(24 * 3600 * 1000 + 1);
    assert.equal((await addedTo(demo.account_id, () => token(client))).length, 1, "another day");
  });

  test("for staff, in the platform's chain", async () => {
    const added = await addedTo("platform", () => logIn(staff.email, wrongPassword));
    assert.deepEqual(added, [{ action: "sign_in.failed", operation: "auth.login", wrong: "password" }]);
  });
});

describe("an unknown address", () => {
  test("leaves no record, and the request does the same work: one job in both cases", async () => {
    const { owner } = service.database;
    await owner.query("create sequence public.jobs_made");
    await owner.query("grant usage on sequence public.jobs_made to public");
    await owner.query(`create function public.count_job() returns trigger language plpgsql as
      $$ begin perform nextval('public.jobs_made'); return new; end $$`);
    await owner.query(`create trigger count_job after insert on emanet.jobs for each row
      when (new.task like 'identity.%' and new.key is null) execute function public.count_job()`);
    const madeBy = async (act: () => Promise<unknown>) => {
      const read = async () => Number((await owner.query("select nextval('public.jobs_made') as at")).rows[0]?.at);
      const before = await read();
      await act();
      return (await read()) - before - 1;
    };
    const total = () => storedRows<{ count: string }>(service.database, "select count(*) from emanet.audit_records");
    const [before] = await total();
    assert.equal(await madeBy(() => logIn(unknownEmail, wrongPassword)), 1);
    const sms = (email: string, password: string) =>
      madeBy(() => service.send("POST", "/auth/sms-otp/request", { json: { email, password } }));
    assert.equal(await sms(unknownEmail, wrongPassword), 2, "one of them is the job that sends no message");
    await settledMessages(service);
    assert.deepEqual((await total())[0], before);
    assert.equal(await madeBy(() => logIn(demo.email, wrongPassword)), 1);
    assert.equal(await madeBy(() => logIn(demo.email, demo.password)), 1);
    for (const password of [wrongPassword, demo.password]) assert.equal(await sms(demo.email, password), 2);
    await settledMessages(service);
  });
});

describe("failed sign-ins of strangers", () => {
  test("neither wait for the account's chain nor lock it", async () => {
    const holder = await service.database.owner.connect();
    try {
      await holder.query("begin");
      await holder.query("select set_config('emanet.scope', 'system', true)");
      await holder.query("select from emanet.audit_heads where chain = $1 for update", [demo.account_id]);
      assert.equal(
        (await logIn(demo.email, wrongPassword)).status,
        401,
        "answered while another transaction locks the chain",
      );
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await settledMessages(service);
  });

  test("add no more records than the lockout allows, and the start of the lockout is recorded", async (t) => {
    const strict = await startTestService(t, { settings: { ...roomyLimits, EMANET_LIMIT_LOCKOUT: "3/60" } });
    const { demo: target } = await readFirstRun(strict.dataDir);
    const json = { email: target.email, password: wrongPassword, totp_code: wrongCode };
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++) statuses.push((await strict.send("POST", "/v1/auth/login", { json })).status);
    assert.deepEqual(statuses, [401, 401, 401, 429, 429, 429, 429, 429]);
    await settledMessages(strict);
    const rows = await readChain(strict.database.app, target.account_id);
    const actions = rows.filter(({ outcome }) => outcome === "failure").map(({ action }) => action);
    assert.deepEqual(actions.sort(), ["sign_in.failed", "sign_in.failed", "sign_in.failed", "sign_in.locked"]);
  });
});
