/**
 * Every operation of the OpenAPI document that changes access to an account runs over HTTP. Afterwards the person concerned
 * and every owner must have exactly one mail. The table is compared with the document: an operation that could change
 * access and is in neither list fails.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { apiDocument } from "../../packages/server/src/endpoints.ts";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { enter, fieldOf } from "../../packages/server/src/testing/pages.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { type Sent, startTestService } from "../../packages/server/src/testing/running.ts";
import {
  codeIn,
  messageTo,
  type SentMessage,
  settledMessages,
  tokenIn,
} from "../../packages/server/src/testing/sent-messages.ts";

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "1000/60" };
const service = await startTestService({ after }, { settings });
const { demo, staff } = await readFirstRun(service.dataDir);

/** The account: two owners with different languages, a manager, a former owner and an invited owner. */
const second = await tokenFor(service, { accountId: demo.account_id });
const secondEmail = `${second.personId}@test.example`;
const formerOwner = await tokenFor(service, { accountId: demo.account_id });
const futureOwner = await tokenFor(service, { accountId: demo.account_id });
const set = (column: string, id: string | null, value: string) =>
  storedRows(service.database, `update emanet.people set ${column} = $2 where id = $1`, [id, value]);
await set("language", second.personId, "en");
await set("state", formerOwner.personId, "removed");
await set("state", futureOwner.personId, "invited");

const manager = { email: "mudur@ornek.example", password: "sekiz mavi tekne uyur", totp_secret: "", id: "" };
const fullName = "Müdür Örnek";

type Json = Readonly<Record<string, unknown>>;

async function as(login: typeof demo | typeof staff | typeof manager) {
  const { auth } = await signInAs(service, login);
  return async (method: string, target: string, json?: Json): Promise<Sent> => {
    // Any version: this test is only about mails.
    const headers = { ...auth, "if-match": "*" };
    const answer = await service.send(method, target, { headers, ...(json && { json }) });
    assert.ok(answer.status < 300, `${method} ${target}: ${answer.body}`);
    return answer;
  };
}

const post = (target: string, json: Json) => service.send("POST", target, { json });

/** Runs the change and returns every message that it caused. */
async function sentBy(act: () => Promise<unknown>): Promise<SentMessage[]> {
  const before = new Set((await settledMessages(service)).map(({ id }) => id));
  await act();
  return (await settledMessages(service)).filter(({ id }) => !before.has(id));
}

/** The change causes one mail of this template to each owner, and to the others a mail of the template given for them. */
async function expectMails(template: string, others: Readonly<Record<string, string>>, act: () => Promise<unknown>) {
  const mails = await sentBy(act);
  const wanted = { [demo.email]: `${template} tr`, [secondEmail]: `${template} en`, ...others };
  const seen = mails.map(({ to, template: what, language }) => `${to}: ${what} ${language}`).sort();
  assert.deepEqual(
    seen,
    Object.entries(wanted)
      .map(([to, what]) => `${to}: ${what}`)
      .sort(),
  );
  for (const mail of mails) {
    if (mail.template !== template) continue;
    assert.ok(mail.text.includes(service.clock.now().toISOString().slice(0, 13)), "names the time");
    assert.doesNotMatch(
      mail.text,
      /#[a-z]{3}_|ems_|\+90|@|[a-z0-9]{5}-[a-z0-9]{5}\b(?!-)/,
      "no secret, address or phone",
    );
    if (template.startsWith("client_")) assert.match(mail.text, /Gece yedeği/);
    else if ([demo.email, secondEmail].includes(mail.to))
      assert.match(mail.text, /Örnek/, "names the person to owners");
  }
}

const expectManagerMail = (template: string, act: () => Promise<unknown>) =>
  expectMails(template, { [manager.email]: `${template} tr` }, act);

let invitations = 0;

async function invite(role = "operator") {
  const email = `davetli${++invitations}@ornek.example`;
  const call = await as(demo);
  await call("POST", "/v1/members", { email, full_name: "Davetli Örnek", role });
  const [row] = await storedRows<{ id: string }>(service.database, "select id from emanet.people where email = $1", [
    email,
  ]);
  const token = tokenIn(await messageTo(service.dataDir, email, "enrolment"));
  await set("language", row?.id ?? "", "tr");
  return { email, token, id: row?.id ?? "" };
}

/** Completes an enrolment over the API and returns the secret of the new authenticator. */
async function enrol(token: string, password: string): Promise<string> {
  const begun = await post("/v1/enrolment", { token });
  const { totp_secret } = objectIn<{ totp_secret: string }>(begun, "totp");
  const totp_code = codeAt(totp_secret, service.clock.now());
  const done = await post("/v1/enrolment/complete", { token, password, totp_code });
  assert.equal(done.status, 200, done.body.toString());
  return totp_secret;
}

async function newestLink(template: string): Promise<string> {
  const mails = (await settledMessages(service)).filter(
    (mail) => mail.to === manager.email && mail.template === template,
  );
  return tokenIn(mails.at(-1) ?? assert.fail(`no ${template}`));
}

async function resetLink(): Promise<string> {
  await post("/v1/auth/password-reset/request", { email: manager.email });
  return newestLink("password_reset");
}

let client = "";

async function askForReset(): Promise<void> {
  const call = await as(staff);
  const target = `/v1/admin/members/${manager.id}/reset-second-factor`;
  await expectManagerMail("second_factor_reset_asked", () => call("POST", target, { reason: "telefon kayboldu" }));
}

const resetDone = (act: () => Promise<unknown>) =>
  expectMails("second_factor_reset_done", { [manager.email]: "second_factor_reset tr" }, act);

/** Operations that cause mails, in the order in which they run. */
const operationsWithMails: Readonly<Record<string, () => Promise<void>>> = {
  "enrolment.complete": async () => {
    const { email, token, id } = await invite("manager");
    await storedRows(
      service.database,
      "update emanet.people set email = $2, email_key = $2, full_name = $3 where id = $1",
      [...[id, manager.email, fullName]],
    );
    assert.notEqual(email, manager.email);
    manager.id = id;
    await expectManagerMail("member_enrolled", async () => {
      manager.totp_secret = await enrol(token, manager.password);
    });
  },
  "enrolment.set_up": async () => {
    const { email, token } = await invite();
    const { jar } = await enter(service, "/enrol", token);
    const page = await jar.get("/enrol/setup");
    const secret = /<code class="secret">([^<]+)</.exec(page.body.toString())?.[1]?.replaceAll(" ", "") ?? "";
    const totp_code = codeAt(secret, service.clock.now());
    const fields = { csrf: fieldOf(page, "csrf"), password: "on iki sarı bisiklet", totp_code };
    await expectMails("member_enrolled", { [email]: "member_enrolled tr" }, async () => {
      assert.equal((await jar.post("/enrol/setup", fields)).status, 200);
    });
  },
  "me.change_password": async () => {
    const call = await as(manager);
    const new_password = "dokuz yeşil tekne uyur";
    const json = { current_password: manager.password, new_password };
    await expectManagerMail("password_changed", () => call("POST", "/v1/me/password", json));
    manager.password = new_password;
  },
  "auth.reset_password": async () => {
    const token = await resetLink();
    manager.password = "on kırmızı tekne uyur";
    const json = { token, new_password: manager.password };
    await expectManagerMail("password_changed", () => post("/v1/auth/password-reset", json));
  },
  "password_reset.choose": async () => {
    const { jar, next } = await enter(service, "/reset-password", await resetLink());
    manager.password = "on bir gri tekne uyur";
    const fields = { csrf: fieldOf(await jar.get(next), "csrf"), new_password: manager.password };
    await expectManagerMail("password_changed", () => jar.post(next, fields));
  },
  "me.confirm_totp": async () => {
    const call = await as(manager);
    const { totp_secret } = (await call("POST", "/v1/me/totp")).json as { totp_secret: string };
    const totp_code = codeAt(totp_secret, service.clock.now());
    await expectManagerMail("authenticator_changed", () => call("POST", "/v1/me/totp/confirm", { totp_code }));
    manager.totp_secret = totp_secret;
  },
  "me.renew_recovery_codes": async () => {
    const call = await as(manager);
    await expectManagerMail("recovery_codes_renewed", () => call("POST", "/v1/me/recovery-codes"));
  },
  "me.confirm_phone": async () => {
    const call = await as(manager);
    const { challenge_id } = (await call("POST", "/v1/me/phone", { phone: "0533 444 55 77" })).json ?? {};
    const code = codeIn(await messageTo(service.dataDir, "+905334445577", "otp_code"));
    await expectManagerMail("phone_changed", () => call("POST", "/v1/me/phone/confirm", { challenge_id, code }));
  },
  "members.invite": async () => {
    const call = await as(demo);
    const email = "misafir@ornek.example";
    const json = { email, full_name: "Misafir Örnek", role: "viewer" };
    await expectMails("member_invited", { [email]: "enrolment en" }, () => call("POST", "/v1/members", json));
  },
  "members.resend_invitation": async () => {
    const { id, email } = await invite();
    service.clock.advance(3_600_000);
    const call = await as(demo);
    const mails = await sentBy(() => call("POST", `/v1/members/${id}/resend-invitation`));
    assert.deepEqual(
      mails.map(({ to, template }) => [to, template]),
      [[email, "enrolment"]],
      "owners got a mail before",
    );
  },
  "members.update": async () => {
    const call = await as(demo);
    const change = (role: string) => call("PATCH", `/v1/members/${manager.id}`, { role });
    await expectManagerMail("role_changed", () => change("operator"));
    await expectManagerMail("role_changed", () => change("manager"));
  },
  "oauth_clients.create": async () => {
    const call = await as(manager);
    await expectManagerMail("client_created", async () => {
      const made = await call("POST", "/v1/oauth-clients", { name: "Gece yedeği", scopes: ["snapshots:read"] });
      client = objectIn<{ id: string }>(made, "client").id;
    });
  },
  "oauth_clients.update": async () => {
    const call = await as(demo);
    const json = { scopes: ["snapshots:read", "snapshots:write"] };
    await expectManagerMail("client_changed", () => call("PATCH", `/v1/oauth-clients/${client}`, json));
  },
  "oauth_clients.review": async () => {
    await storedRows(service.database, "update emanet.oauth_clients set review_since = now() where id = $1", [client]);
    const call = await as(demo);
    await expectMails("client_changed", {}, () => call("POST", `/v1/oauth-clients/${client}/review`));
    const give = "update emanet.oauth_clients set responsible_id = $2 where id = $1";
    await storedRows(service.database, give, [client, manager.id]);
  },
  "oauth_grants.review": async () => {
    const { sessionId, clientId } = await tokenFor(service, {
      accountId: demo.account_id,
      as: "grant",
      role: "viewer",
    });
    const name = "update emanet.oauth_clients set name = 'Gece yedeği' where id = $1";
    await storedRows(service.database, name, [clientId]);
    await storedRows(service.database, "update emanet.sessions set review_since = now() where id = $1", [sessionId]);
    const call = await as(demo);
    await expectMails("client_changed", {}, () => call("POST", `/v1/oauth-grants/${sessionId}/review`));
  },
  "oauth_clients.rotate_secret": async () => {
    const call = await as(demo);
    await expectManagerMail("client_secret_rotated", () =>
      call("POST", `/v1/oauth-clients/${client}/rotate-secret`, {}),
    );
  },
  "oauth_clients.delete": async () => {
    const call = await as(demo);
    await expectManagerMail("client_removed", () => call("DELETE", `/v1/oauth-clients/${client}`));
  },
  "admin.reset_second_factor": async () => {
    await askForReset();
    await resetDone(async () => service.clock.advance(24 * 3600 * 1000));
    const token = await newestLink("second_factor_reset");
    await expectManagerMail("authenticator_changed", async () => {
      manager.totp_secret = await enrol(token, manager.password);
    });
  },
  "members.decide_second_factor_reset": async () => {
    const call = await as(demo);
    const decide = (decision: string) => call("POST", `/v1/members/${manager.id}/second-factor-reset`, { decision });
    await askForReset();
    await expectManagerMail("second_factor_reset_canceled", () => decide("cancel"));
    await askForReset();
    await resetDone(() => decide("confirm"));
  },
  "members.remove": async () => {
    const call = await as(demo);
    await expectManagerMail("member_removed", () => call("DELETE", `/v1/members/${manager.id}`));
    const { id, email } = await invite();
    const remove = () => call("DELETE", `/v1/members/${id}`);
    await expectMails("member_removed", { [email]: "member_removed tr" }, remove);
    const mail = (await settledMessages(service)).filter(({ to }) => to === email).at(-1);
    assert.doesNotMatch(mail?.text ?? "", /Örnek/, "a person who has not enrolled gets no text of a customer");
  },
};

/** Operations that could change access but cause no mail, with the reason. */
const operationsWithoutMails: Readonly<Record<string, string>> = {
  "account.update": "data and settings of the account; they give no access",
  "account.close": "ends what the account may do; owners get the mail of every act that waits",
  "recovery_kits.create": "owners get a mail of its own about the kit",
  "recovery_kits.cancel": "gives no access",
  "recovery_kits.download": "owners get a mail of its own about the kit",
  "members.erase": "erases the data of a person who was removed; it gives no access",
  "sessions.end": "ends access and gives none",
  "oauth_grants.end": "ends access and gives none",
  "webhooks.rotate_secret": "signs what we send; it gives no access",
  "me.update": "name and language",
  "me.begin_totp": "takes effect only with me.confirm_totp",
  "me.request_phone_code": "takes effect only with me.confirm_phone",
  "rate_limits.request": "only a request; staff decide",
  "enrolment.begin": "changes nothing",
  "enrolment.request_code": "takes effect only with enrolment.complete",
  "enrolment.open_door": "changes nothing",
  "enrolment.send_phone_code": "takes effect only with enrolment.set_up",
  "enrolment.sign_in": "a sign-in; a new device has its own mail",
  "auth.request_password_reset": "mails a link; takes effect only when the link is used",
  "password_reset.ask": "mails a link; takes effect only when the link is used",
  "password_reset.open_door": "changes nothing",
};

interface Operation {
  readonly operationId: string;
  readonly "x-scope"?: string;
}

/** Operations that could change access, found by their scope or by words in their path. */
function candidates(): string[] {
  const { paths } = apiDocument({ complete: true }) as unknown as {
    paths: Record<string, Record<string, Operation>>;
  };
  const names =
    /\/(me|members|enrol|enrolment|oauth-clients|oauth-grants|reset-password|password-reset)(\/|$)|factor|secret|totp|phone|password|recovery|role/;
  return Object.entries(paths).flatMap(([place, methods]) =>
    Object.entries(methods)
      .filter(([method, { "x-scope": scope }]) => method !== "get" && (scope === "account:write" || names.test(place)))
      .map(([, { operationId }]) => operationId),
  );
}

describe("the person concerned and every owner get one mail, in their language, when access changes by", () => {
  test("exactly the operations of this table: each operation of the document causes a mail or has a reason not to", () => {
    const listed = [...Object.keys(operationsWithMails), ...Object.keys(operationsWithoutMails)];
    assert.deepEqual(candidates().sort(), listed.sort());
  });

  for (const [operation, run] of Object.entries(operationsWithMails)) test(operation, run);
});
