/** What the tests of OAuth share: clients of every kind, a person who signs in, and the forms of the pages. */

import { createHash, createHmac, randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { endpoint } from "../kernel/http/endpoint.ts";
import { closed, Type, text } from "../kernel/http/schema.ts";
import type { OauthScope } from "../kernel/principal.ts";
import type { Sent, TestService } from "../testing/running.ts";

/** An operation that says who is asking; what a token is worth. */
export const whoAmI = endpoint(
  {
    id: "test.who_am_i",
    method: "GET",
    path: "/v1/who-am-i",
    tag: "health",
    summary: "Who is asking",
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
      client_id: principal.clientId,
      token_kind: principal.tokenKind,
      scopes: [...principal.scopes].sort(),
    },
  }),
);

/** Enough for a test that asks for many tokens. */
export const roomyLimits = { EMANET_LIMIT_TOKEN: "100000/60", EMANET_LIMIT_LOGIN: "1000/60" };

/** Calls {@link whoAmI} with a token. */
export function askWho(service: TestService, token: unknown): Promise<Sent> {
  return service.send("GET", "/v1/who-am-i", { headers: { authorization: `Bearer ${token}` } });
}

export interface Demo {
  readonly account_id: string;
  readonly email: string;
  readonly password: string;
  readonly totp_secret: string;
  readonly client_id: string;
  readonly client_secret: string;
}

/** The demo account of a service's first start. */
export async function demoOf(service: Pick<TestService, "dataDir">): Promise<Demo> {
  const { demo } = JSON.parse(await readFile(path.join(service.dataDir, "first-run.json"), "utf8")) as { demo: Demo };
  return demo;
}

/** The code that the person's app shows. Each is good once, so the clock moves to the next step first. */
export function nextCode(service: Pick<TestService, "clock">, secret: string): string {
  service.clock.advance(30_000);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(service.clock.now().getTime() / 30_000)));
  const mac = createHmac("sha1", base32(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

function base32(text: string): Buffer {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...text.replaceAll("=", "")]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

export interface TestClient {
  readonly accountId: string | null;
  readonly grants: readonly string[];
  readonly authMethod?: "client_secret" | "private_key_jwt" | "none";
  readonly redirectUris?: readonly string[];
  readonly scopes?: readonly OauthScope[];
  readonly jwks?: object;
  readonly name?: string;
}

/** Registers a client directly in the database; its id. */
export async function addClient(service: Pick<TestService, "database">, client: TestClient): Promise<string> {
  const id = randomUUID();
  const { accountId, grants, authMethod = "none", redirectUris = [], jwks, name = "Defter Programı" } = client;
  const scopes = client.scopes ?? ["account:read", "snapshots:read"];
  await asSystem(service, [
    `insert into emanet.oauth_clients
       (id, account_id, kind, name, auth_method, grant_types, redirect_uris, scopes, jwks, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now(), now())`,
    [id, accountId, accountId === null ? "agent" : "api", name, authMethod, grants, redirectUris, scopes, jwks ?? null],
  ]);
  return id;
}

/** Runs a statement with the sight of the whole service. */
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

export type Fields = Readonly<Record<string, string>>;

/** Sends a form. */
export function post(service: TestService, target: string, fields: Fields, headers: Fields = {}): Promise<Sent> {
  return service.send("POST", target, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(fields).toString(),
  });
}

export function basic(id: string, secret: string): Fields {
  const text = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

/** A browser without eyes: keeps cookies, follows nothing by itself. */
export class CookieJar {
  readonly #service: TestService;
  readonly #cookies = new Map<string, string>();

  constructor(service: TestService) {
    this.#service = service;
  }

  get(target: string): Promise<Sent> {
    return this.#keep(this.#service.send("GET", this.#path(target), { headers: { cookie: this.header } }));
  }

  post(target: string, fields: Fields): Promise<Sent> {
    return this.#keep(post(this.#service, this.#path(target), fields, { cookie: this.header }));
  }

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  #path(target: string): string {
    return target.startsWith(this.#service.url) ? target.slice(this.#service.url.length) : target;
  }

  async #keep(sending: Promise<Sent>): Promise<Sent> {
    const answer = await sending;
    for (const cookie of answer.headers["set-cookie"]?.split(/, (?=__Host-)/) ?? []) {
      const [pair = ""] = cookie.split(";");
      const at = pair.indexOf("=");
      if (pair.slice(at + 1) === "" || /expires=Thu, 01 Jan 1970|max-age=0/i.test(cookie)) {
        this.#cookies.delete(pair.slice(0, at));
      } else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return answer;
  }
}

/** The value of a hidden field of a page. */
export function fieldOf(page: Sent, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page.body.toString())?.[1] ?? "";
}

export function locationOf(answer: Sent): string {
  return answer.headers.location ?? "";
}

/** Signs in and allows, from the first page on; where the browser is sent afterwards. */
export async function signInAndAllow(
  service: TestService,
  jar: CookieJar,
  interaction: string,
  decision: "approve" | "deny" = "approve",
): Promise<string> {
  const demo = await demoOf(service);
  const signIn = await jar.get(interaction);
  const { email, password, totp_secret } = demo;
  const credentials = { email, password, totp_code: nextCode(service, totp_secret) };
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

/** A whole authorization: a code, and the verifier that belongs to it. */
export async function obtainCode(service: TestService, clientId: string, more: Fields = {}) {
  const { verifier, challenge } = pkce();
  const jar = new CookieJar(service);
  const start = await jar.get(authorizePath(clientId, challenge, more));
  const returnTo = await signInAndAllow(service, jar, locationOf(start));
  const back = new URL(locationOf(await jar.get(returnTo)));
  return { code: back.searchParams.get("code") ?? "", verifier, back };
}

export function redeem(service: TestService, clientId: string, code: string, verifier: string, more: Fields = {}) {
  return post(service, "/oauth2/token", {
    grant_type: "authorization_code",
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: callback,
    ...more,
  });
}

export function refresh(service: TestService, clientId: string, token: unknown, more: Fields = {}) {
  return post(service, "/oauth2/token", {
    grant_type: "refresh_token",
    client_id: clientId,
    refresh_token: String(token),
    ...more,
  });
}
