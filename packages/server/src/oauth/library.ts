/**
 * Calls the library. One visit is one transaction, with one request and one complete answer. Errors of our own code inside
 * the library are thrown here, so that the transaction is rolled back and the client gets an error of the catalogue.
 */

import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Call, Ctx, RawCall, Reply } from "../kernel/http/endpoint.ts";
import type { TokenClaims } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import { callLibrary, type LibraryAnswer, type LibraryRequest, mountPath } from "./bridge.ts";
import { browserCookies } from "./browser-cookies.ts";
import type { Provider } from "./oidc-provider.ts";
import { createProvider } from "./provider.ts";
import { during, type Visit } from "./visit.ts";
import { noteFailure, oauthPorts } from "./wiring.ts";

/** The library always uses the machine's clock. The adapter converts between that and the application's clock. */
const libraryClock: Clock = systemClock;

export interface Library {
  readonly provider: Provider;
  readonly visit: Visit;
  /** Calls the library with the request, changed by `change`; without cookies unless it names some. */
  send(change?: Partial<Omit<LibraryRequest, "publicUrl">>): Promise<LibraryAnswer>;
}

export interface VisitOptions {
  readonly accept: LibraryRequest["accept"];
  readonly endReason?: Visit["endReason"];
  readonly isRefresh?: boolean;
  readonly prefilledCode?: string | undefined;
  readonly presented?: TokenClaims | undefined;
}

/** Opens a visit; `work` runs inside it. */
export function visitLibrary<T>(
  ctx: Ctx,
  call: Call,
  options: VisitOptions,
  work: (library: Library) => Promise<T>,
): Promise<T> {
  const provider = providerFor(ctx);
  // The account is known only later, so the transaction belongs to no account.
  return ctx.tx({ kind: "system" }, async (tx) => {
    const visit: Visit = {
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
      if (answer.status === 401 && visit.found.client !== undefined) await noteFailure(ctx, tx, visit.found.client);
      return { ...answer, cookies: browserCookies(ctx, answer.cookies) };
    };
    const result = await during(visit, () => work({ provider, visit, send }));
    if (visit.found.fault !== undefined) throw visit.found.fault;
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
