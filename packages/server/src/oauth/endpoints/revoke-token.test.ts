import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { askWho, basic, post, refresh, startOauth } from "../testing.ts";

const { site, demo, proof, client, grant, credentials } = await startOauth({ after });
const revoke = (token: unknown, more: Readonly<Record<string, string>> = { client_id: client }, headers = {}) =>
  post(site, "/oauth2/revoke", { token: String(token), ...more }, headers);

describe("revoking", () => {
  for (const which of ["access_token", "refresh_token"] as const) {
    test(`the ${which} of a grant ends all of it`, async () => {
      const tokens = await grant();
      const answer = await revoke(tokens?.[which]);
      assert.equal(answer.status, 200);
      assert.equal(answer.body.length, 0);
      assert.equal((await askWho(site, tokens?.access_token)).status, 401);
      assert.equal((await refresh(site, client, tokens?.refresh_token)).json?.error, "invalid_grant");
      assert.equal((await revoke(tokens?.[which])).status, 200);
    });
  }

  test("a client's own token ends that token and no other", async () => {
    const issue = async () => (await credentials()).json?.access_token;
    const [one, two] = [await issue(), await issue()];
    assert.equal((await revoke(one, { token_type_hint: "access_token" }, proof)).status, 200);
    assert.equal((await askWho(site, one)).status, 401);
    assert.equal((await askWho(site, two)).status, 200);
  });

  test("200 for what is no token at all", async () => {
    for (const token of ["nothing", "a.b.c", "e30.e30.e30", "presented~token", "x".repeat(5000)]) {
      assert.equal((await revoke(token)).status, 200, token);
    }
    assert.equal((await post(site, "/oauth2/revoke", { client_id: client })).status, 400);
  });

  test("of another client's token changes nothing", async () => {
    const tokens = await grant();
    await revoke(tokens?.access_token, {}, proof);
    await revoke(tokens?.refresh_token, {}, proof);
    assert.equal((await askWho(site, tokens?.access_token)).status, 200);
    assert.equal((await refresh(site, client, tokens?.refresh_token)).status, 200);
  });

  test("401: a client that does not prove itself", async () => {
    const answer = await revoke("x", {}, basic(demo.client_id, "wrong"));
    assert.equal(answer.status, 401);
    assert.equal(answer.json?.error, "invalid_client");
  });
});
