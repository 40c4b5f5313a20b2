import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { SignJWT } from "jose";
import { tokenFor } from "../../testing/accounts.ts";
import {
  authorizePath,
  CookieJar,
  decideDevice,
  type Fields,
  locationOf,
  obtainCode,
  pkce,
  pollDevice,
  post,
  redeem,
  refresh,
  startDevice,
  startOauth,
} from "../testing.ts";

const { service, site, demo, client, proof, grant, credentials } = await startOauth({ after });

const { json: metadata } = await service.send("GET", "/oauth2/.well-known/oauth-authorization-server");

const { auth } = await tokenFor(service, { accountId: demo.account_id });

const listed = (name: string) => metadata?.[name] as string[];

test("the metadata is the same document in each place where clients look, and any page may read it", async () => {
  const paths = [
    "/oauth2/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/oauth2",
    "/oauth2/.well-known/openid-configuration",
  ];
  for (const path of paths) {
    const answer = await service.send("GET", path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.deepEqual(answer.json, metadata);
  }
  assert.equal(metadata?.issuer, `${service.url}/oauth2`);
});

test("every address in the metadata is served", async () => {
  for (const [name, value] of Object.entries(metadata ?? {})) {
    if (!/_endpoint$|_uri$|_documentation$/.test(name)) continue;
    const path = String(value).slice(service.url.length);
    const method = /token|revocation|introspection|device/.test(name) ? "POST" : "GET";
    const { status } = await service.send(method, path);
    assert.ok(status !== 404 && status !== 405, name);
  }
});

test("the metadata says nothing about what does not exist (OpenID Connect, registration, request objects, DPoP)", () => {
  const foreign =
    /userinfo|id_token|subject_types|claim|session|logout|registration|request|dpop|mtls|pushed|prompt|acr/;
  for (const name of Object.keys(metadata ?? {})) assert.doesNotMatch(name, foreign);
  for (const scope of ["openid", "offline_access"]) assert.ok(!listed("scopes_supported").includes(scope));
});

describe("what the metadata names can be used", () => {
  /** Keys for each algorithm, registered as an account registers them. */
  const keyPairs: Readonly<Record<string, () => { publicKey: KeyObject; privateKey: KeyObject }>> = {
    ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ES384: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
    RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
    Ed25519: () => generateKeyPairSync("ed25519"),
    EdDSA: () => generateKeyPairSync("ed25519"),
  };

  async function keyClient(alg: string) {
    const pair = keyPairs[alg]?.();
    assert.ok(pair, `no key for ${alg}`);
    const jwk = { ...pair.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg };
    const made = { name: "Anahtarlı", scopes: ["account:read"], auth_method: "private_key_jwt", jwks: { keys: [jwk] } };
    const answer = await service.send("POST", "/v1/oauth-clients", { json: made, headers: auth });
    return { answer, pair };
  }

  /** A client that proves itself by a method: the fields and headers of a request. */
  const methods: Readonly<Record<string, (alg: string) => Promise<() => Promise<{ form: Fields; headers: Fields }>>>> =
    {
      client_secret_basic: async () => async () => ({ form: {}, headers: proof }),
      client_secret_post: async () => async () => ({
        form: { client_id: demo.client_id, client_secret: demo.client_secret },
        headers: {},
      }),
      none: async () => async () => ({ form: { client_id: client }, headers: {} }),
      private_key_jwt: async (alg) => {
        const { answer, pair } = await keyClient(alg);
        assert.equal(answer.status, 201, `${alg}: ${answer.body}`);
        const { id } = (answer.json as { client: { id: string } }).client;
        return async () => ({
          form: {
            client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            client_assertion: await new SignJWT({ iss: id, sub: id, aud: `${service.url}/oauth2`, jti: randomUUID() })
              .setProtectedHeader({ alg, kid: "k1" })
              .setIssuedAt()
              .setExpirationTime("1m")
              .sign(pair.privateKey),
          },
          headers: {},
        });
      },
    };

  for (const endpoint of ["token", "revocation", "introspection"]) {
    for (const method of listed(`${endpoint}_endpoint_auth_methods_supported`)) {
      const algorithms =
        method === "private_key_jwt" ? listed(`${endpoint}_endpoint_auth_signing_alg_values_supported`) : [""];
      for (const alg of algorithms) {
        test(`${endpoint}: ${method} ${alg}`, async () => {
          const prove = await methods[method]?.(alg);
          assert.ok(prove, `nothing is known about ${method}`);
          const send = async (path: string, more: Fields) => {
            const { form, headers } = await prove();
            return post(site, path, { ...form, ...more }, headers);
          };
          const issued =
            method === "none"
              ? { json: await grant() }
              : await send("/oauth2/token", { grant_type: "client_credentials" });
          const token = String(issued.json?.access_token);
          const isActive = async () => (await post(site, "/oauth2/introspect", { token }, proof)).json?.active;
          assert.equal(await isActive(), true);
          if (endpoint === "introspection") {
            assert.equal((await send("/oauth2/introspect", { token })).json?.active, true);
          } else if (endpoint === "revocation") {
            assert.equal((await send("/oauth2/revoke", { token })).status, 200);
            assert.equal(await isActive(), false);
          }
        });
      }
    }
  }

  test("and a key for an algorithm that it does not name cannot be registered", async () => {
    const named = new Set(listed("token_endpoint_auth_signing_alg_values_supported"));
    for (const alg of Object.keys(keyPairs)) {
      const { answer } = await keyClient(alg);
      assert.equal(answer.status, named.has(alg) ? 201 : 422, alg);
    }
  });

  /** Obtains tokens by a grant. */
  const flows: Readonly<Record<string, () => Promise<{ status: number }>>> = {
    authorization_code: async () => {
      const { code, verifier } = await obtainCode(site, demo, client);
      return redeem(site, client, code, verifier);
    },
    client_credentials: () => credentials(),
    refresh_token: async () => refresh(site, client, (await grant())?.refresh_token),
    "urn:ietf:params:oauth:grant-type:device_code": async () => {
      const { json } = await startDevice(site);
      await decideDevice(site, demo, json?.user_code);
      return pollDevice(site, json?.device_code);
    },
  };
  for (const name of listed("grant_types_supported")) {
    test(`grant: ${name}`, async () => assert.equal((await flows[name]?.())?.status, 200));
  }

  test("every scope, and there is no other", async () => {
    for (const scope of listed("scopes_supported")) {
      assert.equal((await credentials({ scope })).json?.scope, scope);
    }
    const all = String((await credentials()).json?.scope).split(" ");
    assert.deepEqual(all.sort(), [...listed("scopes_supported")].sort());
  });

  test("every response type and mode, challenge method, and the issuer in the answer", async () => {
    for (const response_type of listed("response_types_supported")) {
      for (const response_mode of listed("response_modes_supported")) {
        for (const code_challenge_method of listed("code_challenge_methods_supported")) {
          const more = { response_type, response_mode, code_challenge_method };
          const { code, verifier, back } = await obtainCode(site, demo, client, more);
          assert.equal((await redeem(site, client, code, verifier)).status, 200);
          assert.equal(metadata?.authorization_response_iss_parameter_supported, true);
          assert.equal(back.searchParams.get("iss"), metadata?.issuer);
        }
      }
    }
  });

  test("every language of the pages", async () => {
    const jar = new CookieJar(site);
    const path = locationOf(await jar.get(authorizePath(client, pkce().challenge)));
    for (const language of listed("ui_locales_supported")) {
      const headers = { cookie: jar.header, "accept-language": language };
      const page = await service.send("GET", path, { headers });
      assert.match(page.body.toString(), new RegExp(`<html lang="${language}">`));
    }
  });
});
