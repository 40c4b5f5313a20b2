/** Shared by the OAuth tests: clients of every kind, a person who signs in, and the forms of the pages. */

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { newTotpSecret, sealTotp } from "../identity/index.ts";
import { systemRandom } from "../kernel/clock.ts";
import { endpoint } from "../kernel/http/endpoint.ts";
import { closed, Type, text } from "../kernel/http/schema.ts";
import type { MemberRole, OauthScope } from "../kernel/principal.ts";
import { makeBearer } from "../testing/accounts.ts";
import type { Cleanup } from "../testing/database.ts";
import { CookieJar, type Fields, fieldOf, locationOf, post, type Site, siteOf } from "../testing/pages.ts";
import { type FirstRunFile, type Login, noSignInLimits, readFirstRun } from "../testing/people.ts";
import { type Sent, startTestService, type TestService } from "../testing/running.ts";
import { agentClientId } from "./index.ts";

export { CookieJar, type Fields, fieldOf, locationOf, post, type Site, siteOf };

/** An operation that returns the principal of its token. */
export const whoAmI = endpoint(
  {
    id: "test.who_am_i",
    method: "GET",
    path: "/v1/who-am-i",
    tag: "health",
    summary: "Read the principal",
    description: "For tests.",
    access: { kind: "account", scope: "account:read" },
    replies: {
      200: {
        description: "The principal.",
        body: closed({
          kind: text(20),
          account_id: text(36),
          client_id: text(36),
          token_kind: text(20),
          scopes: Type.Array(text(40), { maxItems: 20 }),
        }),
      },
    },
  },
  async (_ctx, { principal }) => ({
    status: 200,
    body: {
      kind: principal.kind,
      account_id: principal.accountId,
      client_id: principal.kind === "client" ? principal.clientId : "",
      token_kind: principal.tokenKind,
      scopes: [...principal.scopes].sort(),
    },
  }),
);

/** Enough for a test that requests many tokens. */
export const roomyLimits = { EMANET_LIMIT_TOKEN: "100000/60", ...noSignInLimits };

/** Calls {@link whoAmI} with a token. */
export function askWho(service: Site, token: unknown): Promise<Sent> {
  return service.send("GET", "/v1/who-am-i", { headers: { authorization: `Bearer ${token}` } });
}

export type Demo = FirstRunFile["demo"];

/** The demo account of a service's first start. */
export async function demoOf(service: Pick<TestService, "dataDir">): Promise<Demo> {
  return (await readFirstRun(service.dataDir)).demo;
}

export interface TestClient {
  readonly accountId: string | null;
  readonly grants: readonly string[];
  readonly authMethod?: "client_secret" | "private_key_jwt" | "none";
  readonly redirectUris?: readonly string[];
  readonly scopes?: readonly OauthScope[];
  readonly jwks?: object;
  readonly role?: MemberRole;
  readonly name?: string;
}

/** Registers a client directly in the database and returns its id. */
export async function addClient(service: Pick<TestService, "database">, client: TestClient): Promise<string> {
  const id = randomUUID();
  const { accountId, grants, authMethod = "none", redirectUris = [], jwks, name = "Defter Programı" } = client;
  const scopes = client.scopes ?? ["account:read", "snapshots:read"];
  await asSystem(service, [
    `insert into emanet.oauth_clients
       (id, account_id, kind, name, auth_method, grant_types, redirect_uris, scopes, jwks, role, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now(), now())`,
    [
      ...[id, accountId, accountId === null ? "agent" : "api", name, authMethod, grants, redirectUris, scopes],
      ...[jwks ?? null, accountId === null ? null : (client.role ?? "owner")],
    ],
  ]);
  return id;
}

/** A member of the demo account with a role, with the demo person's password and a separate authenticator. */
export async function addMember(
  service: TestService,
  demo: Demo,
  role: string,
): Promise<Login & { readonly personId: string }> {
  const { personId } = await makeBearer(service, { accountId: demo.account_id, role });
  if (personId === null) throw new Error("a member without an id");
  const totp_secret = newTotpSecret(systemRandom);
  await asSystem(service, [
    `insert into emanet.credentials (person_id, account_id, password_hash, password_changed_at, changed_at, sealed_totp, updated_at)
     select $1, account_id, password_hash, now(), date_trunc('milliseconds', now()), $2, now() from emanet.credentials
     where person_id = (select id from emanet.people where email = $3)`,
    [personId, sealTotp(service.running.secrets, personId, totp_secret), demo.email],
  ]);
  return { personId, email: `${personId}@test.example`, password: demo.password, totp_secret };
}

/** Runs a statement that sees the rows of all accounts. */
export async function asSystem(
  { database }: Pick<TestService, "database">,
  [text, values]: readonly [string, readonly unknown[]],
): Promise<Record<string, unknown>[]> {
  const client = await database.owner.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
    await client.query("commit");
    return rows;
  } finally {
    client.release();
  }
}

export function basic(id: string, secret: string): Fields {
  const text = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

/** Signs in and allows, from the first page on. Returns the redirect URI. */
export async function signInAndAllow(
  site: Site,
  { email, password, totp_secret }: Login,
  jar: CookieJar,
  interaction: string,
  decision: "approve" | "deny" = "approve",
): Promise<string> {
  const signIn = await jar.get(interaction);
  const credentials = { email, password, totp_code: site.nextCode(totp_secret) };
  await jar.post(interaction, { csrf: fieldOf(signIn, "csrf"), act: "sign_in", ...credentials });
  const consent = await jar.get(interaction);
  const decided = await jar.post(interaction, { csrf: fieldOf(consent, "csrf"), act: decision });
  return locationOf(decided);
}

export const callback = "https://defter.example/geri";

/** PKCE: a verifier of RFC 7636 and its challenge. */
export function pkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** The path of an authorization request. */
export function authorizePath(clientId: string, challenge: string, more: Fields = {}): string {
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: callback,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "s-1",
    ...more,
  });
  return `/oauth2/authorize?${parameters}`;
}

/** A whole authorization: a code and its verifier. */
export async function obtainCode(site: Site, login: Login, clientId: string, more: Fields = {}) {
  const { verifier, challenge } = pkce();
  const jar = new CookieJar(site);
  const start = await jar.get(authorizePath(clientId, challenge, more));
  const returnTo = await signInAndAllow(site, login, jar, locationOf(start));
  const back = new URL(locationOf(await jar.get(returnTo)));
  return { code: back.searchParams.get("code") ?? "", verifier, back };
}

/** The start of token tests: a service, its demo account, and an application of that account. */
export async function startOauth(cleanup: Cleanup, program: Partial<TestClient> = {}, more: Fields = {}) {
  const service = await startTestService(cleanup, { settings: { ...roomyLimits, ...more }, extra: [whoAmI] });
  const site = siteOf(service);
  const demo = await demoOf(service);
  const proof = basic(demo.client_id, demo.client_secret);
  const usual = { accountId: demo.account_id, grants: ["authorization_code"], redirectUris: [callback] };
  const client = await addClient(service, { ...usual, ...program });
  return {
    service,
    site,
    demo,
    /** The credentials of the demo account's OAuth client. */
    proof,
    /** The program's id. */
    client,
    /** The tokens after a person signed in and allowed it. */
    grant: async () => {
      const { code, verifier } = await obtainCode(site, demo, client);
      return (await redeem(site, client, code, verifier)).json;
    },
    /** A token request of that client. */
    credentials: (more: Fields = {}, headers: Fields = proof) =>
      post(site, "/oauth2/token", { grant_type: "client_credentials", ...more }, headers),
  };
}

/** Starts the device flow of the agent. */
export function startDevice(site: Site): Promise<Sent> {
  return post(site, "/oauth2/device_authorization", { client_id: agentClientId });
}

/** Polls the token endpoint as the agent does. */
export function pollDevice(site: Site, deviceCode: unknown): Promise<Sent> {
  return post(site, "/oauth2/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    client_id: agentClientId,
    device_code: String(deviceCode),
  });
}

/** Types a device's code, confirms it, signs in and decides. Returns the last page. */
export async function decideDevice(
  site: Site,
  login: Login,
  userCode: unknown,
  decision: "approve" | "deny" = "approve",
): Promise<Sent> {
  const jar = new CookieJar(site);
  const user_code = String(userCode);
  const form = await jar.get("/oauth2/device");
  const shown = await jar.post("/oauth2/device", { xsrf: fieldOf(form, "xsrf"), user_code });
  const confirm = { xsrf: fieldOf(shown, "xsrf"), user_code, confirm: "yes" };
  const confirmed = await jar.post("/oauth2/device", confirm);
  return jar.get(await signInAndAllow(site, login, jar, locationOf(confirmed), decision));
}

export function redeem(service: Site, clientId: string, code: string, verifier: string, more: Fields = {}) {
  return post(service, "/oauth2/token", {
    grant_type: "authorization_code",
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: callback,
    ...more,
  });
}

export function refresh(service: Site, clientId: string, token: unknown, more: Fields = {}) {
  return post(service, "/oauth2/token", {
    grant_type: "refresh_token",
    client_id: clientId,
    refresh_token: String(token),
    ...more,
  });
}
