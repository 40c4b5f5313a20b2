/**
 * Runs work with the library. One library context has one transaction, one request and one complete answer. Errors of our
 * own code inside the library are thrown here, so that the transaction is rolled back and the client gets an error of the
 * catalogue.
 */

import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Call, Ctx, RawCall, Reply } from "../kernel/http/endpoint.ts";
import type { TokenClaims } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { browserCookies } from "./browser-cookies.ts";
import { callLibrary, type LibraryAnswer, type LibraryRequest, mountPath } from "./call-library.ts";
import { type LibraryContext, runInLibraryContext } from "./library-context.ts";
import type { Provider } from "./oidc-provider.ts";
import { noteFailure, oauthPorts } from "./ports-implementation.ts";
import { createProvider } from "./provider.ts";

/** The library always uses the machine's clock. The adapter converts between that and the application's clock. */
const libraryClock: Clock = systemClock;

export interface Library {
  readonly provider: Provider;
  readonly context: LibraryContext;
  /** Calls the library with the request, changed by `change`; without cookies unless it names some. */
  send(change?: Partial<Omit<LibraryRequest, "publicUrl">>): Promise<LibraryAnswer>;
}

export interface LibraryOptions {
  readonly accept: LibraryRequest["accept"];
  readonly endReason?: LibraryContext["endReason"];
  readonly isRefresh?: boolean;
  readonly prefilledCode?: string | undefined;
  readonly presented?: TokenClaims | undefined;
}

/** Opens a transaction and a library context; `work` runs inside them. */
export function withLibrary<T>(
  ctx: Ctx,
  call: Call,
  options: LibraryOptions,
  work: (library: Library) => Promise<T>,
): Promise<T> {
  const provider = providerFor(ctx);
  // The account is known only later, so the transaction belongs to no account.
  return ctx.tx({ kind: "system" }, async (tx) => {
    const context: LibraryContext = {
      ctx,
      tx,
      ports: oauthPorts(ctx, tx),
      libraryClock,
      language: call.language,
      address: call.address,
      prefilledCode: options.prefilledCode,
      presented: options.presented,
      endReason: options.endReason ?? "reused",
      isRefresh: options.isRefresh ?? false,
      found: {},
    };
    const request = libraryRequest(ctx, rawOf(call), options.accept);
    const send: Library["send"] = async (change = {}) => {
      const answer = await callLibrary(provider, { ...request, ...change });
      // The library answers this when a client's authentication failed.
      if (answer.status === 401 && context.found.client !== undefined) await noteFailure(ctx, tx, context.found.client);
      return { ...answer, cookies: browserCookies(ctx, answer.cookies) };
    };
    const result = await runInLibraryContext(context, () => work({ provider, context, send }));
    if (context.found.fault !== undefined) throw context.found.fault;
    return result;
  });
}

function libraryRequest(ctx: Ctx, raw: RawCall, accept: LibraryRequest["accept"]): LibraryRequest {
  return {
    method: raw.method,
    target: raw.url.slice(mountPath.length),
    publicUrl: ctx.publicUrl,
    authorization: raw.headers.authorization,
    form: raw.method === "POST" ? raw.form : undefined,
    accept,
  };
}

/** The claims of the JWT in a request, if it is ours and has not expired. */
export async function presentedClaims(ctx: Ctx, jwt: string | null): Promise<TokenClaims | undefined> {
  const checked = jwt === null ? null : await ctx.tokens.check(jwt);
  return checked?.kind === "valid" ? checked.claims : undefined;
}

/** The original request. Every OAuth endpoint declares that it needs it. */
export function rawOf(call: Call): RawCall {
  if (call.raw === undefined) throw new Error("an OAuth endpoint without its raw request");
  return call.raw;
}

/** Converts the library's answer to a reply. JSON is parsed, so that it is validated like every reply. */
export function replyOf(answer: LibraryAnswer): {
  status: number;
  headers: Record<string, string | string[]>;
  body: unknown;
} {
  const { "content-type": type = "", ...headers } = answer.headers;
  const isJson = type.startsWith("application/json");
  return {
    status: answer.status,
    headers: {
      // RFC 9110: every 401 has a challenge, also when the request had no credentials.
      ...(answer.status === 401 && { "www-authenticate": `Basic realm="emanet"` }),
      ...headers,
      ...(answer.body !== "" && { "content-type": type }),
      ...(answer.cookies.length > 0 && { "set-cookie": [...answer.cookies] }),
    },
    body: answer.body === "" ? undefined : isJson ? (JSON.parse(answer.body) as unknown) : answer.body,
  } satisfies Reply;
}

/** One provider per running service and public URL. */
const providers = new WeakMap<Secrets, { readonly publicUrl: string; readonly provider: Provider }>();

function providerFor({ secrets, publicUrl }: Ctx): Provider {
  const known = providers.get(secrets);
  if (known?.publicUrl === publicUrl) return known.provider;
  const provider = createProvider(publicUrl);
  providers.set(secrets, { publicUrl, provider });
  return provider;
}
