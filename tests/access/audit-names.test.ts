/** Audit records name the session, the member, the client and the network of the request. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  addClient,
  basic,
  callback,
  obtainCode,
  post,
  redeem,
  roomyLimits,
  siteOf,
} from "../../packages/server/src/oauth/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { type ChainRow, firstBadRecord, readChain } from "../../packages/server/src/testing/audit-chain.ts";
import { listIn } from "../../packages/server/src/testing/lists.ts";
import { readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { type Sent, startTestService } from "../../packages/server/src/testing/running.ts";

const settings = { ...roomyLimits, EMANET_TRUSTED_PROXIES: "127.0.0.1/32" };
const service = await startTestService({ after }, { settings });
const { demo, staff } = await readFirstRun(service.dataDir);
const site = siteOf(service);
const from = { "x-forwarded-for": "203.0.113.77" };
const network = "203.0.113.0/24";

interface Claims {
  readonly sid: string;
  readonly sub: string;
}

function claimsOf(token: unknown): Claims {
  return JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString()) as Claims;
}

/** The last record of a chain after a request. Verifies the whole chain. */
async function recordOf(chain: string, act: () => Promise<Sent>): Promise<ChainRow> {
  const answer = await act();
  assert.ok(answer.status < 300, answer.body.toString());
  const rows = await readChain(service.database.app, chain);
  assert.equal(firstBadRecord(rows), null);
  return rows.at(-1) ?? assert.fail("no record");
}

let names = 0;

/** A change that people and programs may make. Returns the actor and the context of its audit record. */
async function actWith(token: unknown, headers: Record<string, string> = from) {
  const json = { name: `Büro ${++names}` };
  const row = await recordOf(demo.account_id, () =>
    service.send("PATCH", "/v1/account", { json, headers: { authorization: `Bearer ${token}`, ...headers } }),
  );
  const { request_id, ...context } = row.context as Record<string, string>;
  assert.match(request_id ?? "", /^[0-9a-f-]{36}$/);
  return { actor: row.actor, context };
}

const operation = "account.update";

describe("the audit record of a change names", () => {
  test("for a person: session and member", async () => {
    const { token } = await signInAs(service, demo);
    const { sid: session_id, sub: member_id } = claimsOf(token);
    assert.deepEqual(await actWith(token), {
      actor: { kind: "member", id: member_id },
      context: { operation, session_id, member_id, address: network },
    });
  });

  test("for client credentials: session and client", async () => {
    const proof = basic(demo.client_id, demo.client_secret);
    const answer = await post(site, "/oauth2/token", { grant_type: "client_credentials" }, proof);
    const token = answer.json?.access_token;
    assert.deepEqual(await actWith(token), {
      actor: { kind: "client", id: demo.client_id },
      context: { operation, session_id: claimsOf(token).sid, client_id: demo.client_id, address: network },
    });
  });

  test("for an application that acts for a member: session, client and member", async () => {
    const usual = { accountId: demo.account_id, grants: ["authorization_code"], redirectUris: [callback] };
    const client_id = await addClient(service, { ...usual, scopes: ["account:write"] });
    const { code, verifier } = await obtainCode(site, demo, client_id);
    const token = (await redeem(site, client_id, code, verifier)).json?.access_token;
    const { sid: session_id, sub: member_id } = claimsOf(token);
    assert.deepEqual(await actWith(token), {
      actor: { kind: "client", id: client_id },
      context: { operation, session_id, member_id, client_id, address: network },
    });
  });

  test("for an agent: its own session, the client that all agents share, and the member", async () => {
    const bearer = { accountId: demo.account_id, as: "grant", kind: "agent" } as const;
    const { auth, sessionId: session_id, personId: member_id, clientId: client_id } = await tokenFor(service, bearer);
    assert.deepEqual(await actWith(auth.authorization.slice("Bearer ".length)), {
      actor: { kind: "agent", id: session_id },
      context: { operation, session_id, member_id, client_id, address: network },
    });
  });

  test("for staff, in the customer's own chain: the session; the actor is the staff member", async () => {
    const { token, auth } = await signInAs(service, staff);
    const { sid: session_id, sub: id } = claimsOf(token);
    const target = `/v1/admin/accounts/${demo.account_id}/early-access`;
    const json = { early_access: true, reason: "test gerekçesi" };
    const row = await recordOf(demo.account_id, () =>
      service.send("POST", target, { json, headers: { ...auth, ...from } }),
    );
    const { request_id: _any, ...context } = row.context as Record<string, string>;
    assert.deepEqual(
      [row.actor, context],
      [
        { kind: "staff", id },
        { operation: "admin.set_early_access", session_id, address: network },
      ],
    );
  });

  test("for a caller without a token: only the network", async () => {
    const json = { email: demo.email, password: demo.password, totp_code: site.nextCode(demo.totp_secret) };
    const row = await recordOf(demo.account_id, () => service.send("POST", "/v1/auth/login", { json, headers: from }));
    const { request_id: _any, ...context } = row.context as Record<string, string>;
    assert.deepEqual([row.actor, context], [{ kind: "anonymous" }, { operation: "auth.login", address: network }]);
  });

  test("only the network of an address, for IPv6 the /48, as in log lines", async () => {
    const { token } = await signInAs(service, demo);
    const { context } = await actWith(token, { "x-forwarded-for": "2001:db8:1:2:3:4:5:6" });
    assert.equal(context.address, "2001:db8:1::/48");
  });
});

test("staff see the context of every record", async () => {
  const { auth } = await signInAs(service, staff);
  const target = `/v1/admin/audit?account_id=${demo.account_id}&action=account.changed&limit=100`;
  const answer = await service.send("GET", target, { headers: auth });
  assert.equal(answer.status, 200, answer.body.toString());
  const records = listIn<{ actor: { kind: string }; context: Record<string, string> }>(answer, "data");
  assert.deepEqual(new Set(records.map(({ actor }) => actor.kind)), new Set(["member", "client", "agent"]));
  for (const { context } of records) assert.ok(context.session_id && context.address);
});
