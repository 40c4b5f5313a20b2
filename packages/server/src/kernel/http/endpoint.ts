/**
 * An endpoint is data (its *spec*: who may call it, what it takes, what it answers, how it is limited) and one plain
 * function (`handle`). Routing, validation, the OpenAPI document and the tests all read the same spec; the function
 * never sees a request or reply object.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Static, TObject, TSchema } from "typebox";
import type { Config } from "../../config.ts";
import type { Clock, Random } from "../clock.ts";
import type { Cursors } from "../cursors.ts";
import type { Services } from "../domain-services.ts";
import type { LaterSubject, Limiter } from "../limits/limiter.ts";
import type { PolicyName } from "../limits/policies.ts";
import type { Log } from "../log.ts";
import type { AccessTokens, Actor, MemberRole, OauthScope, OauthScopes, Principal } from "../principal.ts";
import type { Language, Problem, ProblemCode } from "../problems.ts";
import type { Secrets } from "../secrets.ts";
import type { RunRead, RunTx, Tx } from "../tx.ts";
import type { CookieName } from "./cookies.ts";
import { wildcardOf } from "./path-bytes.ts";
import type { RangeConditions } from "./range.ts";
import type { ReplyStream } from "./reply-stream.ts";
import type { Upload, UploadSpec } from "./upload.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * `public` needs no token; `account` one of an account with this scope, and of the roles that the scope names unless
 * fewer are given; `person` one of a person who signed in, about themselves, staff included and programs excluded;
 * `staff` one of the platform's staff; `share` the token of a share, which `handle` looks up itself (`call.shareToken`). To the kernel
 * its sender is anonymous.
 */
export type Access =
  | { readonly kind: "public" }
  | {
      readonly kind: "account";
      readonly scope: OauthScope;
      readonly roles?: readonly MemberRole[];
      /** HEAD is also answered to who has this scope only. `handle` looks at the scopes then. */
      readonly headScope?: OauthScope;
      /** Also answered to who has this scope in place of the first. `handle` looks at the scopes then. */
      readonly orScope?: OauthScope;
      /** Tokens of the service's own pages need neither the scope nor one of its roles. */
      readonly dashboard?: "every_role";
    }
  | { readonly kind: "person"; readonly scope: OauthScope }
  | { readonly kind: "staff" }
  | { readonly kind: "share" };

export type ReplySpec = { readonly description: string; readonly headers?: Readonly<Record<string, TSchema>> } & (
  | { readonly body: TSchema }
  /** Bytes of these media types (a page, a file). The document shows the example, where one is given. */
  | { readonly content: readonly [string, ...string[]]; readonly example?: unknown }
  /** Content of these media types that is made while it is sent; the first is its type unless the reply says another. */
  | { readonly stream: readonly [string, ...string[]] }
  | { readonly empty: true }
);

export interface EndpointSpec {
  /** `noun.verb`: the operation's name in the document, the SDKs, the logs and the limits. */
  readonly id: string;
  readonly method: Method;
  /**
   * OpenAPI style, `/v1/things/{id}`. The first spelling is the documented one; aliases share everything. `{path+}` at its end
   * takes the rest of the URL's path, slashes and bytes that are no text included, as `call.pathBytes`.
   */
  readonly path: string;
  readonly aliases?: readonly string[];
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Limits beside the general one, by account or by address. */
  readonly limits?: readonly PolicyName[];
  /** Limits that `handle` spends (`ctx.spend`), because what they count by is in the body. */
  readonly contentLimits?: readonly PolicyName[];
  /** Counts in no limit. */
  readonly free?: true;
  /** Carries files, or parts of them. Of the general limits only the anonymous one counts it; see `transfers.ts`. */
  readonly content?: true;
  /** With access `public`: refused from a banned address, where the others are not. */
  readonly notWhileBanned?: true;
  /** Only by a person whose second factor was shown within the last minutes; never by a program. */
  readonly stepUp?: true;
  /** Respects the list of vaults of a client that has one. Every other operation refuses such a client. */
  readonly withinVaults?: true;
  /** `api`: only with a package that includes the API, whatever the scope. `open`: with any package. */
  readonly package?: "api" | "open";
  /** A change that a suspended or closed account may still make. */
  readonly whileSuspended?: true;
  /** The cookies that `handle` receives. Operations with cookies answer no other origin. */
  readonly cookies?: readonly CookieName[];
  /** With `cookies`: none of them is sent unless its address is known, so other origins are answered too. */
  readonly anyOrigin?: true;
  readonly params?: TObject;
  readonly query?: TObject;
  /** A parameter of the query whose value may be no text: `call.queryBytes` has its bytes. Its schema checks the text of it. */
  readonly bytesParameter?: string;
  /** Headers that `handle` receives, each a text or a whole number. */
  readonly headers?: TObject;
  readonly body?: TSchema;
  /** A body that `handle` reads itself. With `body` too, a JSON body is `call.body` and any other `call.upload`. */
  readonly upload?: UploadSpec;
  /** In place of what {@link maxBodyBytes} gives to its kind of access. */
  readonly bodyLimitBytes?: number;
  /**
   * Another protocol than the JSON API. `oauth`: OAuth 2.0, see `oauth-error.ts`. `pages`: for people with a browser; the
   * body is a form, unknown parameters are ignored (mail programs add their own to links), and the endpoint's `explain`
   * shows problems as pages.
   */
  readonly wire?: "oauth" | "pages";
  /** With `wire`: the fields of its form, for the document. The handler gets the form as it came. */
  readonly form?: TObject;
  readonly replies: Readonly<Record<number, ReplySpec>>;
  /** Codes of the catalogue that `handle` may throw; those of the kernel's own stages are implied by the spec. */
  readonly errors?: readonly ProblemCode[];
  /**
   * POSTs take an `Idempotency-Key` unless they say otherwise (sign-in). `resumed`: a repetition does again what failed, and
   * `handle` gets the body of the recorded answer as `call.earlier`.
   */
  readonly idempotency?: "none" | "resumed";
  /** Every PATCH and DELETE has it; `required` for retention and secrets, where a change unseen costs most. */
  readonly ifMatch?: "optional" | "required";
  /**
   * From the end of the header to the answer; reading the body is part of it. With `upload` or a streamed reply it is the time
   * between two steps: it starts anew with every chunk and every `ctx.progressed()`.
   */
  readonly deadlineMs?: number;
  /** The answer to a GET holds a secret, so it is not compressed; see `compression.ts`. Other methods never are. */
  readonly secret?: true;
  /** Pages and documents that are the same for everyone: other origins may read them, and no token is asked for. */
  readonly crossOrigin?: true;
  readonly deprecated?: Deprecation;
}

/** The part of a spec that says who may call it. */
export type AccessSpec = Pick<
  EndpointSpec,
  "access" | "method" | "stepUp" | "withinVaults" | "package" | "whileSuspended"
>;

/** An operation that will be retired: every answer says so, and after `sunset` it is `endpoint_sunset`. */
export interface Deprecation {
  /** Days, as `2027-01-31`: when it was announced, and when it ends, at least a year later. */
  readonly since: string;
  readonly sunset: string;
  /** Page about what replaces it, absolute or below our own origin; the documentation unless given. */
  readonly link?: string;
}

/** What a handler uses besides the call: clock, randomness, settings, limits, transactions. */
export interface Ctx {
  readonly settings: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cursors: Cursors;
  readonly secrets: Secrets;
  /** What the domains keep open while the service runs. */
  readonly services: Services;
  readonly tokens: AccessTokens;
  /** Origin of absolute URLs, without a slash at its end. */
  readonly publicUrl: string;
  /** Ends when the deadline passes or the client goes away. */
  readonly signal: AbortSignal;
  /** Work that takes long has come further: the deadline starts anew. Only where the spec has `upload` or a stream. */
  readonly progressed: () => void;
  /**
   * Counts the request in limits whose subject is known only now, and throws `rate_limited`. A string is text from the body
   * (an e-mail address); it is counted together with the client's address.
   */
  readonly spend: (policies: readonly PolicyName[], subject: LaterSubject) => Promise<void>;
  /** For showing the state of limits. Nothing is counted through it. */
  readonly limiter: Pick<Limiter, "counterFor" | "peek" | "busiest">;
  /**
   * For a request that waits long: looks the caller up again, and returns what it is now. Throws what a new request would be
   * refused with. When the database does not answer, the caller is as before.
   */
  readonly recheck: () => Promise<Principal>;
  /** Names who acts in the audit records from here on, where only `handle` can know it: the share of a request with a share's token. */
  readonly actAs: (actor: Actor) => void;
  /** One commit for everything inside; see `tx.ts`. */
  readonly tx: RunTx;
  /**
   * For uploads with an `Idempotency-Key`: records the answer in the transaction of the work, after the body was read to its
   * end. Without it the answer is recorded after the work. Does nothing for other requests.
   */
  readonly recordReply: (tx: Tx, reply: Reply) => Promise<void>;
  /** For what only reads. */
  readonly read: RunRead;
}

/** Headers of an answer. A list is a header that is sent several times (`Set-Cookie`). */
export type HeaderValues = Readonly<Record<string, string | readonly string[]>>;

export interface Reply {
  readonly status: number;
  readonly headers?: HeaderValues;
  readonly body?: unknown;
}

/** A request as it came, for endpoints that speak another protocol than ours. */
export interface RawCall {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, when it is a form; empty without one. */
  readonly form: string;
}

export interface Call {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  /** Those that the spec names, by the names that it gives them. */
  readonly headers: unknown;
  /** With `upload`: the body, not read yet. Null for a JSON body where the spec takes both. */
  readonly upload: Upload | null;
  /** What `{path+}` stands for, percent-decoded; any byte may be in it. */
  readonly pathBytes: Buffer | null;
  /** The bytes of the spec's `bytesParameter`, percent-decoded; null when the query has none. */
  readonly queryBytes: Buffer | null;
  /** With `idempotency: "resumed"`: the body of the answer that the key has; else null. */
  readonly earlier: unknown;
  /** HEAD instead of GET: `handle` answers as for GET, and a stream is not made. */
  readonly isHead: boolean;
  /** For `rangedReply`. Empty for HEAD, where a range means nothing. */
  readonly conditions: RangeConditions;
  readonly principal: Principal;
  /** With access `share`: the bearer token as it came; null without one. */
  readonly shareToken: string | null;
  readonly language: Language;
  /** The client's address, canonical; personal data. */
  readonly address: string;
  /** What limits count an address by: itself, or the /64 of an IPv6 one. */
  readonly addressKey: string;
  /** Those that the spec names and the request carries. */
  readonly cookies: Readonly<Partial<Record<CookieName, string>>>;
  /** With `wire`: the request as it came. */
  readonly raw?: RawCall;
  /** Refuses with `precondition_failed` unless the request's `If-Match`, where sent, names this representation. */
  requireMatch(representation: unknown): void;
}

export interface Endpoint {
  readonly spec: EndpointSpec;
  readonly handle: (ctx: Ctx, call: Call) => Promise<Reply>;
  /**
   * What is left to do when the work is committed, before the answer is sent. `handle` cannot do it: with an `Idempotency-Key` its
   * transactions commit after it. Gets the accounts that `handle` had row access to, null for the platform. It must not throw.
   */
  readonly afterCommit?: (ctx: Pick<Ctx, "services" | "log">, accounts: ReadonlySet<string | null>) => Promise<void>;
  /** With `wire: "pages"`: what a person is shown in place of a problem, whichever stage it comes from. */
  readonly explain?: (problem: Problem, language: Language) => Reply;
}

type Shape<S extends EndpointSpec, Part extends "params" | "query" | "headers" | "body"> = S[Part] extends TSchema
  ? Static<S[Part]>
  : undefined;

type PrincipalFor<S extends EndpointSpec> = S["access"] extends { kind: "public" | "share" }
  ? Principal
  : S["access"] extends { kind: "person" }
    ? Extract<Principal, { authTime: Date }>
    : S["access"] extends { kind: "staff" }
      ? Extract<Principal, { kind: "staff" }>
      : S["stepUp"] extends true
        ? Extract<Principal, { kind: "member" }>
        : Extract<Principal, { accountId: string }>;

export interface CallOf<S extends EndpointSpec> extends Call {
  readonly params: Shape<S, "params">;
  readonly query: Shape<S, "query">;
  readonly headers: Shape<S, "headers">;
  readonly body: S["upload"] extends UploadSpec ? Shape<S, "body"> | undefined : Shape<S, "body">;
  readonly upload: S["upload"] extends UploadSpec ? (S["body"] extends TSchema ? Upload | null : Upload) : null;
  readonly pathBytes: S["path"] extends `${string}+}` ? Buffer : null;
  readonly principal: PrincipalFor<S>;
}

type ReplyOf<S extends EndpointSpec> = {
  [Status in keyof S["replies"] & number]: {
    readonly status: Status;
    readonly headers?: HeaderValues;
  } & BodyOf<S["replies"][Status]>;
}[keyof S["replies"] & number];

type BodyOf<R> = R extends { body: infer B extends TSchema }
  ? { readonly body: Static<B> }
  : R extends { content: readonly string[] }
    ? { readonly body: string | Uint8Array }
    : R extends { stream: readonly string[] }
      ? { readonly body: ReplyStream }
      : { readonly body?: undefined };

/**
 * Declares an endpoint.
 *
 * @example
 * export const getThing = endpoint(
 *   { id: "things.get", method: "GET", path: "/v1/things/{id}", … },
 *   async (ctx, call) => ({ status: 200, body: await ctx.tx(rowAccessOf(call.principal), (tx) => findThing(tx, call.params.id)) }),
 * );
 */
export function endpoint<const S extends EndpointSpec, const R extends ReplyOf<S>>(
  spec: S,
  handle: (ctx: Ctx, call: CallOf<S>) => Promise<R>,
): Endpoint {
  // The pipeline has validated params, query, body and principal against this very spec before it calls.
  return { spec, handle: handle as unknown as Endpoint["handle"] };
}

/** Long enough for the slowest page of a list; shorter than the 60 s after which load balancers give up. */
export const defaultDeadlineMs = 30_000;

/** The contract's maximum for a JSON body where a token is needed. */
export const maxJsonBodyBytes = 1024 * 1024;

/**
 * The contract's maximum where no token is needed, forms included. Parsing costs time before anybody is known, so it
 * must be little. The largest honest one is a form with a signed client assertion and a token: some 4 KiB.
 */
export const maxPublicBodyBytes = 8 * 1024;

/** Checked while a body is read, whether or not its length was announced. */
export function maxBodyBytes({ access, bodyLimitBytes }: EndpointSpec): number {
  return bodyLimitBytes ?? (access.kind === "public" ? maxPublicBodyBytes : maxJsonBodyBytes);
}

/** What browsers load to show a page: HTML and what belongs to it. */
const pageMediaTypes: ReadonlySet<string> = new Set(["text/html", "text/css", "text/javascript", "image/x-icon"]);

/** Whether it is for people with a browser. Such an address is no operation of the API. */
export function showsPage({ replies }: EndpointSpec): boolean {
  return Object.values(replies).some(
    (reply) => "content" in reply && reply.content.some((type) => pageMediaTypes.has(type)),
  );
}

/** Whether an answer, or the body of a request, can be as long as the client and the content want. */
export function isTransfer(spec: EndpointSpec): boolean {
  return spec.upload !== undefined || hasStream(spec);
}

export function hasStream({ replies }: EndpointSpec): boolean {
  return Object.values(replies).some((reply) => "stream" in reply);
}

/** Whether a part of the content can be asked for. */
export function hasRanges({ replies }: EndpointSpec): boolean {
  return replies[206] !== undefined;
}

export function takesIdempotencyKey(spec: EndpointSpec): boolean {
  return spec.method === "POST" && spec.idempotency !== "none";
}

/** Whether tokens of kind `api` need a package that includes the API. The scope decides, unless the spec does. */
export function needsApiPackage({ access, package: own }: AccessSpec, scopes: OauthScopes): boolean {
  if (access.kind !== "account") return false;
  return own === undefined ? scopes[access.scope].anyPackage !== true : own === "api";
}

export function refusedWhileSuspended({ access, method, whileSuspended }: AccessSpec): boolean {
  return access.kind === "account" && method !== "GET" && whileSuspended !== true;
}

/**
 * Whether a banned address without a credential may call it: sign-in, password reset, enrolment, documentation. A ban must
 * not stop other people behind the same address from these, and each has its own limits.
 */
export function openWhileBanned({ access, notWhileBanned }: EndpointSpec): boolean {
  return access.kind === "public" && notWhileBanned !== true;
}

/** Every code that an endpoint may answer with: its own, and those its spec implies. */
export function declaredProblems(spec: EndpointSpec, scopes: OauthScopes): ReadonlySet<ProblemCode> {
  const implied: (false | ProblemCode[])[] = [
    [
      "invalid_header",
      "malformed_request",
      "not_acceptable",
      "rate_limited",
      "banned",
      "internal_error",
      "unavailable",
    ],
    // A body is refused also where none is taken.
    [
      "headers_too_large",
      "uri_too_long",
      "payload_too_large",
      "request_timeout",
      "unknown_parameter",
      "duplicate_parameter",
    ],
    // A token that is sent is checked, also where none is needed.
    ["invalid_token", "token_expired"],
    spec.access.kind !== "public" && ["missing_token"],
    spec.access.kind === "account" && ["insufficient_scope", "insufficient_role", "member_required"],
    spec.access.kind === "person" && ["insufficient_scope"],
    needsApiPackage(spec, scopes) && ["package_required"],
    refusedWhileSuspended(spec) && ["account_suspended"],
    spec.stepUp === true && ["step_up_required", "insufficient_scope"],
    spec.cookies !== undefined && spec.anyOrigin !== true && ["origin_not_allowed"],
    spec.access.kind === "staff" && ["admin_required"],
    spec.access.kind === "share" && ["share_revoked"],
    spec.params !== undefined && ["not_found", "validation_failed"],
    spec.query !== undefined && ["validation_failed"],
    spec.query?.properties.cursor !== undefined && ["invalid_cursor"],
    wildcardOf(spec.path) !== null && ["not_found"],
    spec.upload !== undefined && ["unsupported_media_type"],
    hasRanges(spec) && ["range_not_satisfiable"],
    spec.body !== undefined && ["malformed_json", "validation_failed", "unsupported_media_type"],
    spec.method !== "GET" && ["storage_full"],
    spec.wire !== undefined && ["unsupported_media_type"],
    takesIdempotencyKey(spec) && ["idempotency_in_progress", "idempotency_key_reused"],
    spec.deprecated !== undefined && ["endpoint_sunset"],
    spec.ifMatch !== undefined && ["precondition_failed"],
    spec.ifMatch === "required" && ["precondition_required"],
  ];
  return new Set([...implied.flatMap((codes) => codes || []), ...(spec.errors ?? [])]);
}
