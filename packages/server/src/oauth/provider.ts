/**
 * The library, configured. Everything that the contract does not ask for is off; nothing here makes an outgoing
 * request. One provider serves one issuer; what belongs to a request comes by its visit.
 */

import { generateKeyPairSync } from "node:crypto";
import type { EventEmitter } from "node:events";
import { oauthScopes } from "../declarations.ts";
import { createAdapter } from "./adapter.ts";
import { mountPath } from "./bridge.ts";
import {
  type ErrorView,
  renderCodeEntry,
  renderDeviceConfirm,
  renderDeviceSuccess,
  renderFailure,
} from "./library-pages.ts";
import { type Configuration, errors, type KoaContextWithOIDC, Provider } from "./oidc-provider.ts";
import { unknownScope } from "./requests.ts";
import { currentVisit } from "./visit.ts";

const minuteSeconds = 60;
const daySeconds = 24 * 60 * minuteSeconds;

/** Lifetimes in seconds. */
export const lifetimes = {
  /** Redeemed by a program at once; RFC 6749 recommends ten minutes at most. */
  AuthorizationCode: minuteSeconds,
  /** The contract's ten minutes for a user code. */
  DeviceCode: 10 * minuteSeconds,
  /** Signing in with a second factor and reading what is asked for. */
  Interaction: 15 * minuteSeconds,
  /** Carries a person from the first page to the last, and nothing after that. */
  Session: 15 * minuteSeconds,
  /** The contract's 90 days without use; each use starts them anew, and there is no other end. */
  RefreshToken: 90 * daySeconds,
  /** Prolonged with each refresh token that comes of it. */
  Grant: 90 * daySeconds,
  /** Tokens of ours replace these before anybody sees them; see `endpoints/issue-token.ts`. */
  AccessToken: minuteSeconds,
  ClientCredentials: minuteSeconds,
} as const;

/** Clients' clocks may be off by so many seconds when they sign an assertion. */
const clockToleranceSeconds = 10;

export const cookieNames = {
  session: "__Host-oauth-session",
  interaction: "__Host-oauth-interaction",
  resume: "__Host-oauth-resume",
} as const;

/** Where the library's parts are, below the prefix. */
export const routes = {
  authorization: "/authorize",
  token: "/token",
  revocation: "/revoke",
  introspection: "/introspect",
  jwks: "/jwks",
  device_authorization: "/device_authorization",
  code_verification: "/device",
} as const;

/** How a client may prove who it is; `none` for programs that can keep no secret. */
export const clientAuthMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const;

/** What a client may sign its assertions with: keys of this kind are the only ones that can be registered. */
export const assertionAlgorithms = ["ES256"] as const;

export function createProvider(publicUrl: string): Provider {
  const provider = new Provider(`${publicUrl}${mountPath}`, configuration());
  // The bridge says which scheme it is; see there.
  provider.proxy = true;
  // Secrets are hashed where clients are kept, so they are compared there.
  Object.assign(provider.Client.prototype, {
    compareClientSecret(this: { readonly clientId: string }, secret: string) {
      return currentVisit().ports.clients.verifySecret(this.clientId, secret);
    },
  });
  deriveSuccessors(provider);
  forgetUnsavedSessions(provider);
  provider.on("server_error", (_ctx, error) => {
    currentVisit().found.fault = error;
  });
  // What its framework reports when even that failed; without a listener it would be written to standard error.
  const events: EventEmitter = provider;
  events.on("error", (error: unknown) => {
    currentVisit().found.fault = error;
  });
  return provider;
}

/** A refresh token that replaces another is derived from it (`rotation.ts`); the library would make a random one. */
function deriveSuccessors(provider: Provider): void {
  const prototype: object & { generateTokenId?: () => string } = provider.RefreshToken.prototype;
  const { generateTokenId } = prototype;
  if (generateTokenId === undefined) throw new Error("the OAuth library makes refresh tokens in another way now");
  prototype.generateTokenId = function (this: object) {
    return currentVisit().found.rotation?.successor ?? generateTokenId.call(this);
  };
}

/**
 * The library writes a session that an error page touched. One of a browser without a session was never written, and
 * the library throws for it; such a page has nothing to keep.
 */
function forgetUnsavedSessions(provider: Provider): void {
  const { persist } = provider.Session.prototype;
  Object.assign(provider.Session.prototype, {
    async persist(this: InstanceType<Provider["Session"]>) {
      return typeof this.exp === "number" ? persist.call(this) : undefined;
    },
  });
}

function configuration(): Configuration {
  const cookie = { httpOnly: true, sameSite: "lax", secure: true, path: "/", signed: false } as const;
  return {
    adapter: createAdapter,
    clientAuthMethods: [...clientAuthMethods],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clockTolerance: clockToleranceSeconds,
    cookies: { names: cookieNames, long: cookie, short: cookie },
    enabledJWA: { clientAuthSigningAlgValues: [...assertionAlgorithms] },
    jwks: { keys: [unusedKey()] },
    scopes: [...Object.keys(oauthScopes), unknownScope],
    responseTypes: ["code"],
    subjectTypes: ["public"],
    pkce: { required: () => true },
    routes,
    ttl: lifetimes,
    features: features(),
    allowOmittingSingleRegisteredRedirectUri: false,
    expiresWithSession: () => false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: () => true,
    revokeGrantPolicy: () => true,
    // A consent is for one authorization; nothing is allowed again without asking.
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId;
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id);
    },
    // Whether the person may still sign in is known by the grant's session.
    findAccount: async (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_ctx, interaction) => `${mountPath}/interaction/${interaction.uid}` },
    renderError: (ctx, out, error) => show(ctx, renderFailure(viewOf(out, error))),
    fetch: async () => {
      throw new Error("the OAuth library wanted to make an outgoing request");
    },
  };
}

/** The library wants a key of its own and signs nothing: access tokens are ours, and there are no ID tokens. */
function unusedKey() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
}

function features(): NonNullable<Configuration["features"]> {
  const off = { enabled: false } as const;
  return {
    clientCredentials: { enabled: true },
    deviceFlow: {
      enabled: true,
      charset: "base-20",
      mask: "****-****",
      deviceInfo: () => ({ address: currentVisit().address }),
      userCodeInputSource: async (ctx, _form, out, error) => show(ctx, renderCodeEntry(ctx, viewOf(out, error))),
      userCodeConfirmSource: async (ctx, _form, client, device, code) =>
        show(ctx, renderDeviceConfirm(ctx, client, device, code)),
      successSource: async (ctx) => show(ctx, renderDeviceSuccess(ctx)),
    },
    introspection: { enabled: true, allowedPolicy: async (_ctx, client, token) => mayIntrospect(client, token) },
    revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => mayRevoke(client, token) },
    devInteractions: off,
    userinfo: off,
    rpInitiatedLogout: off,
    pushedAuthorizationRequests: off,
    resourceIndicators: off,
    dPoP: off,
    claimsParameter: off,
    requestObjects: off,
    registration: off,
  };
}

/** Only clients that proved who they are: about their own tokens, and those of their account. */
function mayIntrospect(
  client: { readonly clientId: string; readonly tokenEndpointAuthMethod?: string | undefined },
  token: { readonly clientId?: string | undefined },
): boolean {
  const { found } = currentVisit();
  if (client.tokenEndpointAuthMethod === "none") return false;
  if (token.clientId === client.clientId) return true;
  const owner = found.token?.accountId ?? found.grant?.accountId;
  return owner !== undefined && owner === found.client?.accountId;
}

/** Only its own. One that proves nothing is not even told that somebody else's token exists. */
function mayRevoke(
  client: { readonly clientId: string; readonly tokenEndpointAuthMethod?: string | undefined },
  token: { readonly clientId?: string | undefined },
): boolean {
  if (token.clientId === client.clientId) return true;
  if (client.tokenEndpointAuthMethod === "none") return false;
  throw new errors.InvalidRequest("the token was issued to another client");
}

function viewOf(out: unknown, error: unknown): ErrorView | null {
  if (error === undefined || error === null) return null;
  const { error: code } = (out ?? {}) as { error?: string };
  const { name } = error as { name?: string };
  return { code: code ?? "server_error", name: name ?? "" };
}

function show(ctx: KoaContextWithOIDC, html: string): void {
  ctx.type = "html";
  ctx.body = html;
}
