/** One request from its parts to its answer: sign-in, attempts, errors. */

import { ConnectionError, EmanetError, OauthError, ProblemError, UnexpectedAnswerError } from "./errors.ts";
import { type Attempted, type Failure, type Retries, usualRepetitions, waitBefore } from "./retry.ts";
import type { Problem } from "./schemas.generated.ts";
import { isRepeatableBody, type OnProgress, outgoing, type RequestBody } from "./streams.ts";

/** What the client takes from its platform; tests replace it. */
export interface Platform {
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly random: () => number;
  readonly newKey: () => string;
  /** Waits; rejects with the reason of the signal when it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Longest time of one attempt, until its headers have come. Default 60 000; for content 0, which means no limit. */
  readonly timeoutMs?: number;
  readonly retries?: Retries;
  /** Headers beside those of the client. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress?: OnProgress;
}

export interface RawRequest extends RequestOptions {
  readonly method: string;
  /** Below the base URL, with its query: `/v1/members?limit=5`. */
  readonly path: string;
  readonly body?: RequestBody;
  readonly contentType?: string;
  /** Makes a POST repeatable. */
  readonly idempotencyKey?: string;
  /** It may be sent again whatever happened: a second time changes nothing. */
  readonly isHarmless?: boolean;
  /** Without a token, also if the client has credentials. */
  readonly anonymous?: boolean;
}

/** Read or cancel the body of the response: until then its connection is not free. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly response: Response;
}

export type Send = (request: RawRequest) => Promise<RawAnswer>;

export interface TokenRequest {
  readonly baseUrl: string;
  readonly send: Send;
  readonly now: () => number;
  readonly signal: AbortSignal | undefined;
}

export interface Credentials {
  /** The access token for the next request; undefined for a request without one. */
  token(request: TokenRequest): Promise<string | undefined>;
  /** Called when the service refuses a token. Returns true if `token` will return another one. */
  renew?(refused: string): boolean;
}

export interface SenderOptions {
  readonly baseUrl: string;
  readonly credentials: Credentials | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retries: Retries;
  readonly mode: NonNullable<RequestInit["credentials"]>;
  readonly platform: Platform;
}

/** Makes the function that sends requests. Its promise rejects for every answer other than a success and 304. */
export function sender(options: SenderOptions): Send {
  const { credentials, platform, baseUrl } = options;
  const { wait, now, random } = platform;
  const send: Send = async (request) => {
    const { signal, retries = options.retries } = request;
    // Who waits long for an answer waits as long for the token of its request, and never less than usual.
    const isPatient = (retries.max ?? usualRepetitions) > usualRepetitions;
    const sendForToken: Send = (each) => send(isPatient ? { retries, ...each } : each);
    let signedInAgain = false;
    for (let attempts = 1; ; attempts++) {
      signal?.throwIfAborted();
      const token = request.anonymous
        ? undefined
        : await credentials?.token({ baseUrl, send: sendForToken, now, signal });
      const outcome = await attempt(options, request, token);
      if (outcome.ok) return outcome.answer;
      const { failure, error } = outcome;
      if (mayRenew(failure, token, request) && !signedInAgain && credentials?.renew?.(token ?? "") === true) {
        // The service refused it before it did anything, so this does not count as an attempt.
        signedInAgain = true;
        attempts -= 1;
        continue;
      }
      const attempted: Attempted = { attempts, method: request.method, isRepeatable: isRepeatable(request) };
      const ms = isRepeatableBody(request.body)
        ? waitBefore(failure, attempted, retries, { now: now(), random: random() })
        : null;
      if (ms === null) throw error;
      await wait(ms, signal);
    }
  };
  return send;
}

/** Whether the service refused the token, a new one may help, and the body can be sent again. */
function mayRenew(failure: Failure, token: string | undefined, { body }: RawRequest): boolean {
  return (
    token !== undefined &&
    failure.kind === "answer" &&
    failure.status === 401 &&
    (failure.code === "token_expired" || failure.code === "invalid_token") &&
    isRepeatableBody(body)
  );
}

function isRepeatable({ method, idempotencyKey, isHarmless = false }: RawRequest): boolean {
  return isHarmless || method === "GET" || method === "HEAD" || (method === "POST" && idempotencyKey !== undefined);
}

type Outcome =
  | { readonly ok: true; readonly answer: RawAnswer }
  | { readonly ok: false; readonly failure: Failure; readonly error: EmanetError };

async function attempt(options: SenderOptions, request: RawRequest, token: string | undefined): Promise<Outcome> {
  const { signal } = request;
  const late = new AbortController();
  const timeoutMs = request.timeoutMs ?? options.timeoutMs;
  const abort = () => late.abort(new DOMException("the attempt took too long", "TimeoutError"));
  const timer = timeoutMs > 0 ? setTimeout(abort, timeoutMs) : undefined;
  try {
    const response = await options.platform.fetch(`${options.baseUrl}${request.path}`, {
      ...fetchOptions(options, request, token),
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    });
    if (response.ok || response.status === 304) {
      return { ok: true, answer: { status: response.status, headers: response.headers, response } };
    }
    return await refusal(response);
  } catch (cause) {
    // The caller aborted it: the reason of its signal is thrown, not the error of `fetch`.
    signal?.throwIfAborted();
    if (cause instanceof EmanetError) throw cause;
    const error = new ConnectionError(`no answer to ${request.method} ${request.path.split("?", 1)[0]}`, {
      cause: late.signal.aborted ? late.signal.reason : cause,
      outcomeUnknown: true,
    });
    return { ok: false, failure: { kind: "connection", wasSent: true }, error };
  } finally {
    clearTimeout(timer);
  }
}

function fetchOptions(options: SenderOptions, request: RawRequest, token: string | undefined): RequestInit {
  const { body, contentType, idempotencyKey, onProgress } = request;
  // No `Headers`: making them loads all of Node's `fetch`, a tenth of a second for a program that brings its own.
  const headers = lowerCase({ accept: "application/json, */*;q=0.5" }, options.headers, request.headers ?? {});
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  const sent = body === undefined ? undefined : outgoing(body, onProgress);
  return {
    method: request.method,
    headers,
    credentials: options.mode,
    // A redirect could send the token to another server. The API has no redirects.
    redirect: "error",
    ...(sent !== undefined && { body: sent }),
    ...(sent instanceof ReadableStream && { duplex: "half" }),
  };
}

/** Joins headers. Names differ by case only by accident: the last one counts. */
function lowerCase(...parts: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  return Object.fromEntries(
    parts.flatMap((part) => Object.entries(part)).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** The error of an answer. Its body is read, so that the connection can be used again. */
async function refusal(response: Response): Promise<Outcome> {
  const { status, headers } = response;
  const text = await response.text();
  const type = headers.get("content-type")?.split(";", 1)[0] ?? "";
  const body = /[/+]json$/.test(type) ? parsed(text) : undefined;
  if (type === "application/problem+json" && isProblemBody(body)) {
    const failure = { kind: "answer", status, headers, code: body.code } as const;
    return { ok: false, failure, error: new ProblemError(body, headers) };
  }
  const failure = { kind: "answer", status, headers, code: undefined } as const;
  const error = isOauthBody(body) ? new OauthError(status, body, headers) : new UnexpectedAnswerError(status, headers);
  return { ok: false, failure, error };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblemBody(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body && "status" in body && "detail" in body;
}

function isOauthBody(body: unknown): body is { error: string; error_description?: string } {
  return typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
}
