/** Two client libraries that were not written here, at their strictest, through everything that programs do. */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, describe, test } from "node:test";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { testClock } from "../testing/clock.ts";
import { sendHttp1, sendHttp2 } from "../testing/https.ts";
import { startTestService } from "../testing/running.ts";
import { agentClientId } from "./index.ts";
import {
  addClient,
  CookieJar,
  callback,
  decideDevice,
  demoOf,
  locationOf,
  roomyLimits,
  signInAndAllow,
  siteOf,
} from "./testing.ts";

// These libraries look at the machine's clock.
const clock = testClock(new Date().toISOString());
const service = await startTestService({ after }, { settings: roomyLimits, clock });
const site = siteOf(service);
const demo = await demoOf(service);
const issuer = new URL(`${service.url}/oauth2`);

/** `fetch` over TLS with the service's own authority, by either version of HTTP. */
const fetchBy =
  (send: typeof sendHttp1) =>
  async (url: string, options: { method?: string; headers?: unknown; body?: unknown }): Promise<Response> => {
    const headers = Object.fromEntries(new Headers(options.headers as Record<string, string>));
    const body = options.body === undefined || options.body === null ? {} : { body: String(options.body) };
    const type = options.body instanceof URLSearchParams ? { "content-type": "application/x-www-form-urlencoded" } : {};
    const request = { method: options.method ?? "GET", headers: { ...type, ...headers }, ...body };
    const { status, headers: answered, body: bytes } = await send(url, service.ca, request);
    return new Response(bytes.length === 0 ? null : new Uint8Array(bytes), { status, headers: { ...answered } });
  };

/** Walks a browser from an authorization request to the address that it is sent back to. */
async function walk(target: URL): Promise<URL> {
  const jar = new CookieJar(site);
  const start = await jar.get(target.href);
  return new URL(locationOf(await jar.get(await signInAndAllow(site, demo, jar, locationOf(start)))));
}

const codeClient = await addClient(service, {
  accountId: demo.account_id,
  grants: ["authorization_code"],
  redirectUris: [callback],
});

describe("openid-client", () => {
  const customFetch = fetchBy(sendHttp1) as openid.CustomFetch;
  const discover = (id: string, auth: openid.ClientAuth, algorithm: "oauth2" | "oidc" = "oauth2") =>
    openid.discovery(issuer, id, undefined, auth, { algorithm, [openid.customFetch]: customFetch });
  const machine = () => discover(demo.client_id, openid.ClientSecretBasic(demo.client_secret));

  test("discovery, in both places where it looks", async () => {
    for (const algorithm of ["oauth2", "oidc"] as const) {
      const config = await discover(demo.client_id, openid.None(), algorithm);
      assert.equal(config.serverMetadata().issuer, issuer.href);
      assert.ok(config.serverMetadata().supportsPKCE());
    }
  });

  test("client credentials by Basic and by form, introspection, revocation", async () => {
    for (const auth of [openid.ClientSecretBasic(demo.client_secret), openid.ClientSecretPost(demo.client_secret)]) {
      const config = await discover(demo.client_id, auth);
      const tokens = await openid.clientCredentialsGrant(config, { scope: "account:read" });
      assert.equal(tokens.scope, "account:read");
      assert.equal((await openid.tokenIntrospection(config, tokens.access_token)).active, true);
      await openid.tokenRevocation(config, tokens.access_token);
      assert.equal((await openid.tokenIntrospection(config, tokens.access_token)).active, false);
    }
  });

  test("client credentials by private_key_jwt", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" };
    const client = await addClient(service, {
      accountId: demo.account_id,
      grants: ["client_credentials"],
      authMethod: "private_key_jwt",
      jwks: { keys: [jwk] },
    });
    const key = await crypto.subtle.importKey(
      "pkcs8",
      new Uint8Array(privateKey.export({ format: "der", type: "pkcs8" })),
      { name: "ECDSA", namedCurve: "P-256" },
      false,
      ["sign"],
    );
    const config = await discover(client, openid.PrivateKeyJwt({ key, kid: "k1" }));
    assert.equal((await openid.clientCredentialsGrant(config)).token_type, "bearer");
  });

  test("authorization code with PKCE, refresh, revocation", async () => {
    const config = await discover(codeClient, openid.None());
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const target = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: "account:read",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
    });
    const tokens = await openid.authorizationCodeGrant(config, await walk(target), { pkceCodeVerifier, expectedState });
    const next = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
    assert.equal(next.scope, "account:read");
    await openid.tokenRevocation(config, String(next.refresh_token));
    const inspected = await openid.tokenIntrospection(await machine(), next.access_token);
    assert.equal(inspected.active, false);
    await assert.rejects(openid.refreshTokenGrant(config, String(next.refresh_token)), { error: "invalid_grant" });
  });

  test("device flow", async () => {
    const config = await discover(agentClientId, openid.None());
    const codes = await openid.initiateDeviceAuthorization(config, {});
    await decideDevice(site, demo, codes.user_code);
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 1 });
    assert.ok(tokens.refresh_token);
  });
});

describe("oauth4webapi, over HTTP/2", () => {
  const fetchOption = { [oauth.customFetch]: fetchBy(sendHttp2) as never };
  const server = async () => {
    const answer = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...fetchOption });
    return oauth.processDiscoveryResponse(issuer, answer);
  };

  test("client credentials; the token is a valid RFC 9068 access token; introspection and revocation", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: demo.client_id };
    const auth = oauth.ClientSecretBasic(demo.client_secret);
    const parameters = { scope: "account:read" };
    const answer = await oauth.clientCredentialsGrantRequest(as, client, auth, parameters, fetchOption);
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, answer);
    const request = new Request(`${service.url}/v1/account`, { headers: { authorization: `Bearer ${access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, service.url, {
      ...fetchOption,
      // The service's clock has been moved for the codes of the sign-ins above.
      [oauth.clockSkew]: Math.round((clock.now().getTime() - Date.now()) / 1000),
    });
    assert.equal(claims.client_id, demo.client_id);
    const asked = await oauth.introspectionRequest(as, client, auth, access_token, fetchOption);
    assert.equal((await oauth.processIntrospectionResponse(as, client, asked)).active, true);
    const revoked = await oauth.revocationRequest(as, client, auth, access_token, fetchOption);
    await oauth.processRevocationResponse(revoked);
    const again = await oauth.introspectionRequest(as, client, auth, access_token, fetchOption);
    assert.equal((await oauth.processIntrospectionResponse(as, client, again)).active, false);
  });

  test("authorization code with PKCE, and refresh", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: codeClient };
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const target = new URL(String(as.authorization_endpoint));
    target.search = new URLSearchParams({
      client_id: codeClient,
      response_type: "code",
      redirect_uri: callback,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
    }).toString();
    const parameters = oauth.validateAuthResponse(as, client, await walk(target), state);
    const answer = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      parameters,
      callback,
      verifier,
      fetchOption,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer);
    const refreshed = await oauth.refreshTokenGrantRequest(
      as,
      client,
      oauth.None(),
      String(tokens.refresh_token),
      fetchOption,
    );
    const next = await oauth.processRefreshTokenResponse(as, client, refreshed);
    assert.notEqual(next.refresh_token, tokens.refresh_token);
  });

  test("device flow", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: agentClientId };
    const started = await oauth.deviceAuthorizationRequest(as, client, oauth.None(), {}, fetchOption);
    const codes = await oauth.processDeviceAuthorizationResponse(as, client, started);
    await decideDevice(site, demo, codes.user_code);
    const answer = await oauth.deviceCodeGrantRequest(as, client, oauth.None(), codes.device_code, fetchOption);
    assert.ok((await oauth.processDeviceCodeResponse(as, client, answer)).refresh_token);
  });
});
