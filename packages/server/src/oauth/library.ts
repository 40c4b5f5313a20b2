/**
 * The door to the library: one visit is one transaction, one call of the library goes in and one whole answer comes
 * out. What fails on our side while the library works is thrown here, so that the transaction is undone and the client
 * is told by the catalogue.
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

/** The library reads the machine's clock whatever we say; the adapter translates between that and ours. */
const libraryClock: Clock = systemClock;

export interface Library {
  readonly provider: Provider;
  readonly visit: Visit;
  /** Sends the request on, changed as `change` says; without cookies unless it names some. */
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
  // Whose request it is shows only on the way, so the transaction belongs to no account.
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
      // The library answers so when a client did not prove who it is.
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

/** The claims of a JWT that a request presents, where it is one of ours and its time has not passed. */
export async function presentedClaims(ctx: Ctx, jwt: string | null): Promise<TokenClaims | undefined> {
  const checked = jwt === null ? null : await ctx.tokens.check(jwt);
  return checked?.kind === "valid" ? checked.claims : undefined;
}

/** The request as it came; every endpoint here declares that it wants it. */
export function rawOf(call: Call): RawCall {
  if (call.raw === undefined) throw new Error("an OAuth endpoint without its raw request");
  return call.raw;
}

/** The library's answer as a reply; JSON is read, so that it is held against its spec like any other. */
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
      // RFC 9110: every 401 says how to do better, also to who sent no credentials at all.
      ...(answer.status === 401 && { "www-authenticate": `Basic realm="emanet"` }),
      ...headers,
      ...(answer.body !== "" && { "content-type": type }),
      ...(answer.cookies.length > 0 && { "set-cookie": [...answer.cookies] }),
    },
    body: answer.body === "" ? undefined : isJson ? (JSON.parse(answer.body) as unknown) : answer.body,
  } satisfies Reply;
}

/** One provider per running service and public address. */
const providers = new WeakMap<Secrets, { readonly publicUrl: string; readonly provider: Provider }>();

function providerFor({ secrets, publicUrl }: Ctx): Provider {
  const known = providers.get(secrets);
  if (known?.publicUrl === publicUrl) return known.provider;
  const provider = createProvider(publicUrl);
  providers.set(secrets, { publicUrl, provider });
  return provider;
}
