/** What an outsider tries on the pages and endpoints of OAuth, beyond what the tests of each of them show. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { SignJWT, UnsecuredJWT } from "jose";
import { storedRows } from "../testing/rows.ts";
import { agentClientId } from "./index.ts";
import {
  addClient,
  askWho,
  authorizePath,
  basic,
  CookieJar,
  type Fields,
  fieldOf,
  locationOf,
  pkce,
  pollDevice,
  post,
  redeem,
  refresh,
  type Site,
  signInAndAllow,
  startDevice,
  startOauth,
} from "./testing.ts";

const { service, site, demo, proof, client, grant, credentials } = await startOauth(
  { after },
  {},
  { EMANET_TRUSTED_PROXIES: "127.0.0.1/32" },
);

/** The grants of the demo account that live now. */
async function liveGrants(): Promise<number> {
  const query =
    "select from emanet.sessions where person_id is not null and client_id is not null and revoked_at is null";
  return (await storedRows(service.database, query)).length;
}

/** A browser whose person has signed in and not decided. */
async function undecided() {
  const { challenge, verifier } = pkce();
  const jar = new CookieJar(site);
  const path = locationOf(await jar.get(authorizePath(client, challenge)));
  const csrf = fieldOf(await jar.get(path), "csrf");
  const { email, password, totp_secret } = demo;
  await jar.post(path, { csrf, act: "sign_in", email, password, totp_code: site.nextCode(totp_secret) });
  const press = (act: string) => post(site, path, { csrf, act }, { cookie: jar.header });
  return { jar, path, verifier, press };
}

const ten = Array.from({ length: 10 });

describe("one decision at the same moment", () => {
  test("allowed ten times: one grant; returning ten times: one code", async () => {
    const { jar, verifier, press } = await undecided();
    const before = await liveGrants();
    const pressed = await Promise.all(ten.map(() => press("approve")));
    assert.equal((await liveGrants()) - before, 1);
    const [returnTo = ""] = new Set(pressed.map(locationOf));
    const headers = { cookie: jar.header };
    const path = returnTo.slice(service.url.length);
    const returned = await Promise.all(ten.map(() => service.send("GET", path, { headers })));
    const codes = returned.map(locationOf).filter((location) => location.includes("code="));
    assert.equal(codes.length, 1);
    const code = new URL(codes[0] ?? "").searchParams.get("code") ?? "";
    assert.equal((await redeem(site, client, code, verifier)).status, 200);
  });

  test("allowed and denied: it is one of the two", async () => {
    const { jar, press } = await undecided();
    const before = await liveGrants();
    const pressed = await Promise.all(ten.map((_, index) => press(index % 2 === 0 ? "deny" : "approve")));
    const opened = (await liveGrants()) - before;
    const back = new URL(locationOf(await jar.get(locationOf(pressed[0] ?? (await press("deny"))))));
    assert.equal(back.searchParams.has("code") ? 1 : 0, opened);
    assert.equal(back.searchParams.get("error") === "access_denied", opened === 0);
  });

  test("a code of a device confirmed in six browsers at six addresses: one of them goes on", async () => {
    const { json } = await startDevice(site);
    const user_code = String(json?.user_code);
    const browsers = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (last) => {
        const forwarded: Fields = { "x-forwarded-for": `203.0.113.${last}` };
        const there: Site = {
          ...site,
          send: (method, path, call) =>
            site.send(method, path, { ...call, headers: { ...call?.headers, ...forwarded } }),
        };
        const jar = new CookieJar(there);
        const shown = await jar.post("/oauth2/device", {
          xsrf: fieldOf(await jar.get("/oauth2/device"), "xsrf"),
          user_code,
        });
        return { jar, form: { xsrf: fieldOf(shown, "xsrf"), user_code, confirm: "yes" } };
      }),
    );
    const answers = await Promise.all(browsers.map(({ jar, form }) => jar.post("/oauth2/device", form)));
    const going = browsers.filter((_, index) => answers[index]?.status === 303);
    assert.equal(going.length, 1);
    const [{ jar } = { jar: new CookieJar(site) }] = going;
    const before = await liveGrants();
    const returnTo = await signInAndAllow(site, demo, jar, answers.map(locationOf).join(""));
    const path = returnTo.slice(service.url.length);
    const ends = await Promise.all(ten.map(() => service.send("GET", path, { headers: { cookie: jar.header } })));
    assert.equal(ends.filter(({ body }) => body.toString().includes("Connected")).length, 1);
    assert.equal((await liveGrants()) - before, 1);
    assert.equal((await pollDevice(site, json?.device_code)).status, 200);
  });
});

test("coming back before the decision leads to the sign-in again, and to no code", async () => {
  const { jar, path } = await undecided();
  const back = await jar.get(path.replace("interaction", "authorize"));
  assert.match(locationOf(back), /^\/oauth2\/interaction\//);
  assert.match((await jar.get(locationOf(back))).body.toString(), /name="password"/);
});

describe("a token in the place of another", () => {
  test("is nothing: access tokens, refresh tokens and the library's handle as code, device code or refresh token", async () => {
    const tokens = await grant();
    for (const token of ["presented~token", String(tokens?.access_token), String(tokens?.refresh_token)]) {
      const attempts = [redeem(site, client, token, pkce().verifier), pollDevice(site, token)];
      if (token !== tokens?.refresh_token) attempts.push(refresh(site, client, token));
      for (const answer of await Promise.all(attempts)) assert.equal(answer.json?.error, "invalid_grant");
    }
    const handle = { token: "presented~token" };
    assert.deepEqual((await post(site, "/oauth2/introspect", handle, proof)).json, { active: false });
    assert.equal((await post(site, "/oauth2/revoke", handle, proof)).status, 200);
    assert.equal((await askWho(site, tokens?.access_token)).status, 200);
  });

  test("is not revoked by another client, with or without a secret", async () => {
    const tokens = await grant();
    for (const token of [String(tokens?.access_token), String(tokens?.refresh_token)]) {
      assert.equal((await post(site, "/oauth2/revoke", { token }, proof)).json?.error, "invalid_request");
      assert.equal((await post(site, "/oauth2/revoke", { token, client_id: agentClientId })).status, 200);
    }
    assert.equal((await askWho(site, tokens?.access_token)).status, 200);
    assert.equal((await refresh(site, client, tokens?.refresh_token)).status, 200);
  });
});

describe("a client is not authenticated", () => {
  test("by an assertion without a signature, or one signed with what is stored in place of its secret", async () => {
    const { client_id: id } = demo;
    const claims = { iss: id, sub: id, aud: `${service.url}/oauth2`, jti: randomUUID() };
    const unsigned = new UnsecuredJWT(claims).setIssuedAt().setExpirationTime("1m").encode();
    const signed = (secret: string) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256" })
        .setIssuedAt()
        .setExpirationTime("1m")
        .sign(Buffer.from(secret.padEnd(32, "\0")));
    for (const client_assertion of [unsigned, await signed("kept-elsewhere"), await signed(demo.client_secret)]) {
      const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
      const answer = await credentials({ client_assertion_type, client_assertion }, {});
      assert.equal(answer.json?.error, "invalid_client");
    }
    assert.equal((await credentials({}, basic(id, "kept-elsewhere"))).status, 401);
  });

  test("by what is in the address, or in another client's name", async () => {
    const { client_id, client_secret } = demo;
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const query = new URLSearchParams({ client_id, client_secret, grant_type: "client_credentials" });
    for (const body of ["", "grant_type=client_credentials"]) {
      const answer = await service.send("POST", `/oauth2/token?${query}`, { headers: form, body });
      assert.equal(answer.json?.error, "invalid_request");
    }
    assert.equal((await credentials({ client_id: client })).json?.error, "invalid_request");
  });
});

test("a program on a person's machine returns to its own loopback address at any port, and nowhere else", async () => {
  const uris = ["http://127.0.0.1/cb", "http://[::1]/cb"];
  const native = await addClient(service, {
    accountId: demo.account_id,
    grants: ["authorization_code"],
    redirectUris: uris,
  });
  const led = async (redirect_uri: string) => {
    const path = authorizePath(native, pkce().challenge, { redirect_uri, scope: "nonsense" });
    return locationOf(await new CookieJar(site).get(path));
  };
  for (const good of ["http://127.0.0.1:5000/cb", "http://[::1]:7/cb"])
    assert.ok((await led(good)).startsWith(`${good}?`));
  const tricks = [
    ...[
      "http://127.0.0.1:5000@evil.example/cb",
      "http://127.0.0.1.evil.example/cb",
      "http://127.0.0.1\\@evil.example/cb",
    ],
    ...["http://localhost:5000/cb", "http://127.1:5000/cb", "http://2130706433/cb", "http://[::ffff:127.0.0.1]/cb"],
    ...["https://127.0.0.1/cb", "http://user@127.0.0.1/cb", "http://127.0.0.1:99999/cb", "\thttp://127.0.0.1:5000/cb"],
    ...["/../cb", "//evil.example/cb", "/cb#f", "/cb?x=1", "/cb%0d%0aX:y", "/CB"].map(
      (end) => `http://127.0.0.1:5000${end}`,
    ),
  ];
  for (const trick of tricks) assert.equal(await led(trick), "", trick);
});
