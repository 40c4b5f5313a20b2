import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeJwt } from "jose";
import { makeClient } from "../accounts/testing.ts";
import { tokenFor } from "../testing/accounts.ts";
import { storedRows } from "../testing/rows.ts";
import type { Sent } from "../testing/running.ts";
import { agentClientId } from "./index.ts";
import {
  addClient,
  askWho,
  asSystem,
  basic,
  callback,
  decideDevice,
  type Fields,
  obtainCode,
  pollDevice,
  post,
  redeem,
  refresh,
  startDevice,
  startOauth,
} from "./testing.ts";

const { service, site, demo, proof, client, grant } = await startOauth({ after });
const windowMs = 30_000;

/** A client of one kind: its first pair of tokens, and how it refreshes. */
interface Kind {
  begin(): Promise<Sent["json"]>;
  refresh(token: unknown, more?: Fields): Promise<Sent>;
}

const kinds: Record<string, Kind> = {
  "a public program": { begin: grant, refresh: (token, more) => refresh(site, client, token, more) },
  "an agent": {
    begin: async () => {
      const { json } = await startDevice(site);
      await decideDevice(site, demo, json?.user_code);
      return (await pollDevice(site, json?.device_code)).json;
    },
    refresh: (token, more) => refresh(site, agentClientId, token, more),
  },
};

before(async () => {
  const { auth } = await tokenFor(service, { accountId: demo.account_id });
  const made = await makeClient(service, auth, {
    grant_types: ["authorization_code"],
    redirect_uris: [callback],
    scopes: ["account:read", "snapshots:read"],
  });
  const secret = { client_id: made.client.id, client_secret: made.secret };
  kinds["a program with a secret"] = {
    begin: async () => {
      const { code, verifier } = await obtainCode(site, demo, made.client.id);
      return (await redeem(site, made.client.id, code, verifier, secret)).json;
    },
    refresh: (token, more) => refresh(site, made.client.id, token, { ...secret, ...more }),
  };
});

const actions = async (sessionId: unknown): Promise<string[]> => {
  const rows = await storedRows<{ action: string }>(
    service.database,
    "select action from emanet.audit_records where targets @> $1::jsonb order by seq",
    [JSON.stringify([{ type: "session", id: sessionId }])],
  );
  return rows.map(({ action }) => action);
};
const sidOf = (tokens: Sent["json"]) => decodeJwt(String(tokens?.access_token)).sid;

for (const name of ["a public program", "an agent", "a program with a secret"]) {
  describe(`the refresh tokens of ${name}`, () => {
    const kind = () => kinds[name] as Kind;

    test("twenty uses at once: the same successor and an access token each, and the grant goes on", async () => {
      const first = await kind().begin();
      const answers = await Promise.all(Array.from({ length: 20 }, () => kind().refresh(first?.refresh_token)));
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      const successors = new Set(answers.map(({ json }) => json?.refresh_token));
      assert.equal(successors.size, 1);
      assert.ok(!successors.has(first?.refresh_token));
      assert.equal(new Set(answers.map(({ json }) => decodeJwt(String(json?.access_token)).jti)).size, 20);
      for (const { json } of answers) assert.equal((await askWho(site, json?.access_token)).status, 200);
      assert.equal((await kind().refresh([...successors][0])).status, 200);
      const repeats = (await actions(sidOf(first))).filter((action) => action === "oauth.refresh_repeated");
      assert.equal(repeats.length, 19);
    });

    test("a use repeated after a lost answer gets the same successor for 30 seconds from the first", async () => {
      const first = await kind().begin();
      const lost = await kind().refresh(first?.refresh_token);
      for (const waitMs of [0, windowMs / 2, windowMs / 2]) {
        service.clock.advance(waitMs);
        const again = await kind().refresh(first?.refresh_token);
        assert.equal(again.json?.refresh_token, lost.json?.refresh_token);
        assert.equal((await askWho(site, again.json?.access_token)).status, 200);
      }
    });

    test("a later use ends the grant, also for the client that has the successor", async () => {
      const first = await kind().begin();
      const second = (await kind().refresh(first?.refresh_token)).json;
      service.clock.advance(windowMs + 1);
      assert.equal((await kind().refresh(first?.refresh_token)).json?.error, "invalid_grant");
      assert.equal((await kind().refresh(second?.refresh_token)).json?.error, "invalid_grant");
      for (const tokens of [first, second]) {
        assert.equal((await askWho(site, tokens?.access_token)).status, 401);
      }
      assert.deepEqual(await actions(sidOf(first)), ["oauth.grant_opened", "oauth.grant_reused"]);
    });

    test("one whose successor has been used ends the grant at once, also in parallel", async () => {
      const first = await kind().begin();
      const second = (await kind().refresh(first?.refresh_token)).json;
      const third = (await kind().refresh(second?.refresh_token)).json;
      const answers = await Promise.all(Array.from({ length: 5 }, () => kind().refresh(first?.refresh_token)));
      for (const answer of answers) assert.equal(answer.json?.error, "invalid_grant");
      assert.equal((await kind().refresh(third?.refresh_token)).json?.error, "invalid_grant");
      assert.equal((await askWho(site, third?.access_token)).status, 401);
      assert.deepEqual(await actions(sidOf(first)), ["oauth.grant_opened", "oauth.grant_reused"]);
    });

    test("a grant that was revoked answers nothing, also in these 30 seconds", async () => {
      const first = await kind().begin();
      const second = (await kind().refresh(first?.refresh_token)).json;
      await asSystem(service, ["update emanet.sessions set revoked_at = now() where id = $1", [sidOf(first)]]);
      for (const tokens of [first, second]) {
        assert.equal((await kind().refresh(tokens?.refresh_token)).json?.error, "invalid_grant");
      }
    });
  });
}

describe("a refresh token that was just replaced", () => {
  test("gives no scope that it did not have; fewer asked for in a repetition bind that access token alone", async () => {
    const { code, verifier } = await obtainCode(site, demo, client, { scope: "account:read" });
    const first = (await redeem(site, client, code, verifier)).json;
    const second = (await refresh(site, client, first?.refresh_token)).json;
    const wider = await refresh(site, client, first?.refresh_token, { scope: "account:read snapshots:read" });
    assert.equal(wider.json?.error, "invalid_scope");
    assert.equal((await refresh(site, client, second?.refresh_token)).json?.scope, "account:read");

    const both = await grant();
    const narrow = await refresh(site, client, both?.refresh_token, { scope: "snapshots:read" });
    const other = await refresh(site, client, both?.refresh_token, { scope: "account:read" });
    const repeated = await refresh(site, client, both?.refresh_token);
    assert.deepEqual(
      [narrow, other, repeated].map(({ json }) => json?.scope),
      ["snapshots:read", "account:read", "account:read snapshots:read"],
    );
    assert.equal((await askWho(site, narrow.json?.access_token)).status, 403);
    const next = await refresh(site, client, repeated.json?.refresh_token);
    assert.equal(next.json?.scope, "account:read snapshots:read");
  });

  test("is nothing in the hands of another client, and costs its own nothing", async () => {
    const usual = { accountId: demo.account_id, grants: ["authorization_code"], redirectUris: [callback] };
    const stranger = await addClient(service, usual);
    const first = await grant();
    const second = (await refresh(site, client, first?.refresh_token)).json;
    assert.equal((await refresh(site, stranger, first?.refresh_token)).json?.error, "invalid_grant");
    const machine = { grant_type: "refresh_token", refresh_token: String(first?.refresh_token) };
    assert.equal((await post(site, "/oauth2/token", machine, proof)).status, 400);
    assert.equal((await refresh(site, client, second?.refresh_token)).status, 200);
  });

  test("is nothing without the secret of its client", async () => {
    const kind = kinds["a program with a secret"] as Kind;
    const first = await kind.begin();
    await kind.refresh(first?.refresh_token);
    for (const client_secret of ["", "ems_wrong"]) {
      const answer = await kind.refresh(first?.refresh_token, { client_secret });
      assert.equal(answer.json?.error, "invalid_client");
    }
    const { client_id } = decodeJwt(String(first?.access_token));
    const form = { grant_type: "refresh_token", refresh_token: String(first?.refresh_token) };
    const forged = await post(site, "/oauth2/token", form, basic(String(client_id), "ems_wrong"));
    assert.equal(forged.status, 401);
    assert.equal((await kind.refresh(first?.refresh_token)).status, 200);
  });

  test("is not active for introspection, and revoking it ends the grant", async () => {
    const first = await grant();
    const second = (await refresh(site, client, first?.refresh_token)).json;
    const token = String(first?.refresh_token);
    assert.deepEqual((await post(site, "/oauth2/introspect", { token }, proof)).json, { active: false });
    assert.equal((await post(site, "/oauth2/revoke", { token, client_id: client })).status, 200);
    assert.equal((await refresh(site, client, second?.refresh_token)).json?.error, "invalid_grant");
  });

  test("is not kept, and neither is its successor, but as hashes and sealed", async () => {
    const first = await grant();
    const second = (await refresh(site, client, first?.refresh_token)).json;
    await refresh(site, client, first?.refresh_token);
    const rows = await asSystem(service, ["select t::text as text from emanet.oauth_artifacts t", []]);
    const text = rows.map((row) => String(row.text)).join("\n");
    for (const token of [first?.refresh_token, second?.refresh_token].map(String)) {
      const forms = [token, Buffer.from(token).toString("hex"), Buffer.from(token, "base64url").toString("hex")];
      for (const form of forms) assert.ok(!text.includes(form));
    }
  });

  describe("of a machine that may read", () => {
    const hourMs = 60 * 60 * 1000;
    const granted = async (scope: string) => {
      const form = { client_id: agentClientId, scope };
      const { json } = await post(site, "/oauth2/device_authorization", form);
      const page = await decideDevice(site, demo, json?.user_code);
      assert.equal(page.status, 200);
      return (await pollDevice(site, json?.device_code)).json;
    };

    for (const scope of ["snapshots:read", "restores:read", "snapshots:write snapshots:read"])
      test(`ends an hour after its approval, however often it was used (${scope})`, async () => {
        let tokens = await granted(`${scope} account:read`);
        for (const part of [0.5, 0.49]) {
          service.clock.advance(part * hourMs);
          const next = await refresh(site, agentClientId, tokens?.refresh_token);
          assert.equal(next.status, 200);
          tokens = next.json;
        }
        assert.equal((await askWho(site, tokens?.access_token)).status, 200);
        service.clock.advance(0.01 * hourMs);
        assert.equal((await askWho(site, tokens?.access_token)).status, 401);
        assert.equal((await refresh(site, agentClientId, tokens?.refresh_token)).json?.error, "invalid_grant");
      });

    test("and of one that may only write does not", async () => {
      const tokens = await granted("snapshots:write");
      service.clock.advance(89 * 24 * hourMs);
      assert.equal((await refresh(site, agentClientId, tokens?.refresh_token)).status, 200);
    });
  });

  test("does not make its successor live longer", async () => {
    const dayMs = 24 * 60 * 60 * 1000;
    const first = await grant();
    const second = (await refresh(site, client, first?.refresh_token)).json;
    service.clock.advance(windowMs);
    assert.equal((await refresh(site, client, first?.refresh_token)).status, 200);
    service.clock.advance(90 * dayMs - windowMs);
    assert.equal((await refresh(site, client, second?.refresh_token)).json?.error, "invalid_grant");
  });
});
