/**
 * The configuration of the library. Everything that the contract does not need is off, and nothing makes an outgoing
 * request. One provider serves one issuer; data of a request is in its library context.
 */

import { generateKeyPairSync } from "node:crypto";
import type { EventEmitter } from "node:events";
import { oauthScopes } from "../declarations.ts";
import { createAdapter } from "./adapter.ts";
import { mountPath } from "./call-library.ts";
import { currentLibraryContext } from "./library-context.ts";
import {
  type ErrorView,
  renderCodeEntry,
  renderDeviceConfirm,
  renderDeviceSuccess,
  renderFailure,
} from "./library-pages.ts";
import { type Configuration, errors, type KoaContextWithOIDC, Provider } from "./oidc-provider.ts";
import { unknownScope } from "./requests.ts";

const minuteSeconds = 60;
const daySeconds = 24 * 60 * minuteSeconds;

/** Lifetimes in seconds. */
export const lifetimes = {
  /** A program redeems it at once; RFC 6749 recommends at most ten minutes. */
  AuthorizationCode: minuteSeconds,
  /** The contract's ten minutes for a user code. */
  DeviceCode: 10 * minuteSeconds,
  /** Time to sign in with a second factor and to read the requested scopes. */
  Interaction: 15 * minuteSeconds,
  /** Needed from the first page to the last page, not longer. */
  Session: 15 * minuteSeconds,
  /** The contract's 90 days without use. Each use starts them again; there is no other end. */
  RefreshToken: 90 * daySeconds,
  /** Extended with each refresh token of the grant. */
  Grant: 90 * daySeconds,
  /** Our own tokens replace these before they are sent; see `endpoints/issue-token.ts`. */
  AccessToken: minuteSeconds,
  ClientCredentials: minuteSeconds,
} as const;

/** Allowed clock difference in seconds of clients that sign an assertion. */
const clockToleranceSeconds = 10;

export const cookieNames = {
  session: "__Host-oauth-session",
  interaction: "__Host-oauth-interaction",
  resume: "__Host-oauth-resume",
} as const;

/** The paths of the library's endpoints, below the prefix. */
export const routes = {
  authorization: "/authorize",
  token: "/token",
  revocation: "/revoke",
  introspection: "/introspect",
  jwks: "/jwks",
  device_authorization: "/device_authorization",
  code_verification: "/device",
} as const;

/** How a client can authenticate; `none` for programs that cannot keep a secret. */
export const clientAuthMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const;

/** The algorithm of signed assertions. Only keys of this kind can be registered. */
export const assertionAlgorithms = ["ES256"] as const;

export function createProvider(publicUrl: string): Provider {
  const provider = new Provider(`${publicUrl}${mountPath}`, configuration());
  // The bridge sets the scheme.
  provider.proxy = true;
  // The domain `accounts` stores hashes of secrets, so it compares them.
  Object.assign(provider.Client.prototype, {
    compareClientSecret(this: { readonly clientId: string }, secret: string) {
      return currentLibraryContext().ports.clients.verifySecret(this.clientId, secret);
    },
  });
  deriveSuccessors(provider);
  forgetUnsavedSessions(provider);
  provider.on("server_error", (_ctx, error) => {
    currentLibraryContext().found.fault = error;
  });
  // Without a listener the library's framework would print such errors to standard error.
  const events: EventEmitter = provider;
  events.on("error", (error: unknown) => {
    currentLibraryContext().found.fault = error;
  });
  return provider;
}

/** A new refresh token is derived from the previous one (`rotation.ts`); the library would make a random one. */
function deriveSuccessors(provider: Provider): void {
  const prototype: object & { generateTokenId?: () => string } = provider.RefreshToken.prototype;
  const { generateTokenId } = prototype;
  if (generateTokenId === undefined) throw new Error("the OAuth library makes refresh tokens in another way now");
  prototype.generateTokenId = function (this: object) {
    return currentLibraryContext().found.rotation?.successor ?? generateTokenId.call(this);
  };
}

/**
 * The library saves the session after an error page. For a browser without a session it throws, because that session was
 * never stored. Such a page has nothing to save.
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
    // A consent is for one authorization; the next one asks again.
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId;
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id);
    },
    // The grant's session knows whether the person may still sign in.
    findAccount: async (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_ctx, interaction) => `${mountPath}/interaction/${interaction.uid}` },
    renderError: (ctx, out, error) => show(ctx, renderFailure(viewOf(out, error))),
    fetch: async () => {
      throw new Error("the OAuth library wanted to make an outgoing request");
    },
  };
}

/** The library requires a key but signs nothing: access tokens are ours, and there are no ID tokens. */
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
      deviceInfo: () => ({ address: currentLibraryContext().address }),
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

/** Only authenticated clients may introspect: their own tokens and those of their account. */
function mayIntrospect(
  client: { readonly clientId: string; readonly tokenEndpointAuthMethod?: string | undefined },
  token: { readonly clientId?: string | undefined },
): boolean {
  const { found } = currentLibraryContext();
  if (client.tokenEndpointAuthMethod === "none") return false;
  if (token.clientId === client.clientId) return true;
  const owner = found.token?.accountId ?? found.grant?.accountId;
  return owner !== undefined && owner === found.client?.accountId;
}

/** A client may revoke only its own tokens. A client without authentication does not learn that another token exists. */
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
