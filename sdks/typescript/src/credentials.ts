/** Ways to sign in. Each returns the access token for a request, and requests a new one before the old one expires. */

import { EmanetError } from "./errors.ts";
import type { Credentials, Send, TokenRequest } from "./request.ts";
import type { AccessToken, TokenAnswer } from "./schemas.generated.ts";

/** A token is replaced this long before it expires, so that it does not expire while a request is sent. */
const marginMs = 30_000;

/** A token that the caller manages. A function is called for every request. */
export function bearerToken(token: string | (() => string | Promise<string>)): Credentials {
  return { token: async () => (typeof token === "string" ? token : token()) };
}

export interface ClientCredentialsOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Default: all scopes of the client. */
  readonly scopes?: readonly string[];
}

/** A program signs in as itself (RFC 6749, section 4.4). */
export function clientCredentials({ clientId, clientSecret, scopes }: ClientCredentialsOptions): Credentials {
  const form = { grant_type: "client_credentials", ...(scopes && { scope: scopes.join(" ") }) };
  return cachedToken(({ send }) =>
    // If the answer was lost, no program has its token, so requesting another one is safe. A refresh token is used once:
    // its request is not repeated.
    requestToken((request) => send({ ...request, isHarmless: true }), form, basic(clientId, clientSecret)),
  );
}

export interface RefreshTokenOptions {
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: string;
  readonly refreshToken: string;
  /**
   * Every use of a refresh token replaces it. Store the new one before you return: the old one is not accepted again, and
   * using it ends the grant.
   */
  readonly onRefresh?: (refreshToken: string) => void | Promise<void>;
}

/** A program acts for a person who has approved it (authorization code or device flow). */
export function refreshToken(options: RefreshTokenOptions): Credentials {
  const { clientId, clientSecret, onRefresh } = options;
  let current = options.refreshToken;
  return cachedToken(async ({ send }) => {
    const form = { grant_type: "refresh_token", refresh_token: current };
    const authorization = clientSecret === undefined ? undefined : basic(clientId, clientSecret);
    const answer = await requestToken(send, { ...form, ...(!authorization && { client_id: clientId }) }, authorization);
    if (answer.refresh_token !== undefined && answer.refresh_token !== current) {
      current = answer.refresh_token;
      await onRefresh?.(current);
    }
    return answer;
  });
}

export interface SessionCredentials extends Credentials {
  /** The answer of `auth.login` or `auth.step_up`: used from now on. */
  use(answer: AccessToken): void;
  /** Removes the token, at the end of the session. */
  forget(): void;
}

/**
 * A person in a browser. The token is kept in memory; a cookie that scripts cannot read refreshes it. The client needs
 * `cookies: true`.
 */
export function browserSession(): SessionCredentials {
  let given: AccessToken | null = null;
  const inner = cachedToken(async ({ send }) => {
    if (given !== null) {
      const answer = given;
      given = null;
      return answer;
    }
    const answer = await send({ method: "POST", path: "/v1/auth/refresh", anonymous: true });
    return (await answer.response.json()) as AccessToken;
  });
  let signedIn = false;
  return {
    token: async (request) => (signedIn ? inner.token(request) : undefined),
    renew: (refused) => inner.renew?.(refused) ?? false,
    use(answer) {
      given = answer;
      signedIn = true;
      inner.drop();
    },
    forget() {
      given = null;
      signedIn = false;
      inner.drop();
    },
  };
}

interface Token {
  readonly access_token: string;
  /** Seconds. */
  readonly expires_in: number;
}

/** Keeps a token until shortly before it expires. Calls at the same time wait for one request: a refresh token is used once. */
function cachedToken(fetchToken: (request: TokenRequest) => Promise<Token>): Credentials & { drop(): void } {
  let current: { readonly token: string; readonly until: number } | null = null;
  let requested: Promise<string> | null = null;
  const start = async (request: TokenRequest) => {
    const asked = request.now();
    const { access_token: token, expires_in: seconds } = await fetchToken(request);
    current = { token, until: asked + Math.max(seconds * 1000 - marginMs, (seconds * 1000) / 2) };
    return token;
  };
  return {
    token(request) {
      if (current !== null && request.now() < current.until) return Promise.resolve(current.token);
      // Without the signal of one caller: the others wait for the same token.
      requested ??= start({ ...request, signal: undefined }).finally(() => {
        requested = null;
      });
      return unlessAborted(requested, request.signal);
    },
    renew(refused) {
      if (current?.token === refused) current = null;
      return true;
    },
    drop() {
      current = null;
    },
  };
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

async function requestToken(
  send: Send,
  form: Readonly<Record<string, string>>,
  authorization: string | undefined,
): Promise<TokenAnswer> {
  const { response } = await send({
    method: "POST",
    path: "/oauth2/token",
    body: new URLSearchParams(form).toString(),
    contentType: "application/x-www-form-urlencoded",
    anonymous: true,
    ...(authorization !== undefined && { headers: { authorization } }),
  });
  const answer = (await response.json()) as Partial<TokenAnswer>;
  if (typeof answer.access_token !== "string") throw new EmanetError("the token answer has no token");
  return answer as TokenAnswer;
}

/** RFC 6749, section 2.3.1: both parts are encoded as in a form before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const part = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${btoa(`${part(clientId)}:${part(clientSecret)}`)}`;
}
