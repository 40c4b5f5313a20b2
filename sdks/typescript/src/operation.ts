/** Operations as functions. Their table and their types are generated. */

import type { RawAnswer, RawRequest, RequestOptions, Send } from "./request.ts";
import { incoming, isContent, type StreamedBody } from "./streams.ts";

export interface CallOptions extends RequestOptions {
  /** For a POST: your own key in place of a new one. Calls with the same key and content are done once. */
  readonly idempotencyKey?: string;
  /** For content: its media type. */
  readonly contentType?: string;
  /** The change is made only if the resource still has this ETag. */
  readonly ifMatch?: string;
}

/** An answer with its headers. */
export interface Answer<T> {
  readonly data: T;
  readonly status: number;
  readonly headers: Headers;
  /** Version of the resource, for `ifMatch` and `ifNoneMatch`. */
  readonly etag: string | null;
  readonly requestId: string | null;
  /** Whether it is the stored answer to an earlier request with the same key. */
  readonly replayed: boolean;
}

type Arguments<P, O> =
  Record<string, never> extends P
    ? Record<string, never> extends O
      ? [params?: P, options?: O]
      : [params: P, options: O]
    : Record<string, never> extends O
      ? [params: P, options?: O]
      : [params: P, options: O];

export interface Operation<P, T, O = CallOptions> {
  (...call: Arguments<P, O>): Promise<T>;
  /** The answer with its headers. */
  answer(...call: Arguments<P, O>): Promise<Answer<T>>;
}

export interface ReadOperation<P, T, O = CallOptions> extends Operation<P, T, O> {
  /** Null if the resource still has this ETag. */
  ifChanged(etag: string, ...call: Arguments<P, O>): Promise<Answer<T> | null>;
}

export interface ListOperation<P, T, Item> extends ReadOperation<P, T> {
  /** Every item of every page. A page is read when the one before it is used up. */
  all(...call: Arguments<P, CallOptions>): AsyncGenerator<Item, void, undefined>;
  pages(...call: Arguments<P, CallOptions>): AsyncGenerator<T, void, undefined>;
}

/** An operation whose answer is not JSON: it returns the bytes as a stream. */
export type BytesOperation<P> = Operation<P, StreamedBody>;

/** An operation in the generated table. */
export interface OperationSpec {
  readonly method: string;
  /** With the names of its parameters: `/v1/members/{id}`. */
  readonly path: string;
  readonly query?: readonly string[];
  /** `content` is sent as it is, `either` is JSON or content. */
  readonly body?: "json" | "form" | "content" | "either";
  /** Of content, unless the caller names another. */
  readonly mediaType?: string;
  /** The last parameter of the path is a path itself. */
  readonly rest?: true;
  /** Takes an `Idempotency-Key`. */
  readonly keyed?: true;
  readonly reply: "json" | "empty" | "bytes";
  /** Takes no token. */
  readonly anonymous?: true;
}

type Params = Readonly<Record<string, unknown>>;

/** Makes the function of an operation. Its generated type says what it takes and returns. */
export function operation(spec: OperationSpec, send: Send, newKey: () => string): unknown {
  const request = (params: Params = {}, options: CallOptions = {}): RawRequest => ({
    ...options,
    method: spec.method,
    path: pathOf(spec, params),
    ...bodyOf(spec, params, options),
    ...(spec.keyed && { idempotencyKey: options.idempotencyKey ?? newKey() }),
    ...(spec.anonymous && { anonymous: true }),
    headers: { ...options.headers, ...(options.ifMatch !== undefined && { "if-match": options.ifMatch }) },
  });
  const answer = async (params?: Params, options?: CallOptions) =>
    answerOf(spec, await send(request(params, options)), options);
  const call = async (params?: Params, options?: CallOptions) => (await answer(params, options)).data;
  const ifChanged = async (etag: string, params?: Params, options?: CallOptions) => {
    const conditional = request(params, { ...options, headers: { ...options?.headers, "if-none-match": etag } });
    const raw = await send(conditional);
    if (raw.status !== 304) return answerOf(spec, raw, options);
    await raw.response.body?.cancel();
    return null;
  };
  async function* pages(params?: Params, options?: CallOptions): AsyncGenerator<Page, void, undefined> {
    let next = params;
    for (;;) {
      const page = (await call(next, options)) as Page;
      yield page;
      if (page.next_cursor === null) return;
      next = { ...params, cursor: page.next_cursor };
    }
  }
  async function* all(params?: Params, options?: CallOptions): AsyncGenerator<unknown, void, undefined> {
    for await (const page of pages(params, options)) yield* page.data;
  }
  return Object.assign(call, { answer, ifChanged, pages, all });
}

interface Page {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
}

function pathOf({ path, query = [], rest }: OperationSpec, params: Params): string {
  const filled = path.replaceAll(/\{(\w+)\}(?=(\/?))/g, (_, name: string, after: string) => {
    const value = params[name];
    if (rest && after === "" && path.endsWith(`{${name}}`)) return restOf(name, value);
    // An empty part, `.` or `..` would change the path.
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) throw new TypeError(`the parameter ${name} is missing`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const name of query) {
    const value = params[name];
    if (value !== undefined && value !== null) search.append(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}

/** A path of several parts. Bytes stand for a path that is no text. */
function restOf(name: string, value: unknown): string {
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw new TypeError(`the parameter ${name} is missing`);
  const text = Array.from(bytes, (byte) => {
    const letter = String.fromCharCode(byte);
    return /[\w.~/-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
  // `fetch` would resolve such parts, and the request would go to another path.
  if (text.split("/").some((part) => /^\.{1,2}$/.test(part)))
    throw new TypeError(`${name} must not have . or .. in it`);
  return text;
}

/** Uploads can take hours; the service itself ends one that stalls. */
const unlimited = 0;

function bodyOf(
  { body, mediaType }: OperationSpec,
  params: Params,
  options: CallOptions,
): Pick<RawRequest, "body" | "contentType" | "timeoutMs"> {
  if (body === "content" || (body === "either" && isContent(params.body))) {
    if (!isContent(params.body)) throw new TypeError("the parameter body is missing");
    const contentType = options.contentType ?? mediaType;
    const timeoutMs = options.timeoutMs ?? unlimited;
    return { body: params.body, timeoutMs, ...(contentType !== undefined && { contentType }) };
  }
  const value = params.body ?? {};
  if (body === "json" || body === "either") return { body: JSON.stringify(value), contentType: "application/json" };
  if (body === undefined) return {};
  const form = new URLSearchParams();
  for (const [name, each] of Object.entries(value)) if (each !== undefined) form.append(name, String(each));
  return { body: form.toString(), contentType: "application/x-www-form-urlencoded" };
}

async function answerOf(
  { reply }: OperationSpec,
  { status, headers, response }: RawAnswer,
  options: CallOptions | undefined,
): Promise<Answer<unknown>> {
  const isEmpty = status === 204;
  const data =
    reply === "json" && !isEmpty
      ? await response.json()
      : reply === "bytes"
        ? incoming(response, options?.onProgress)
        : undefined;
  // A connection with an unread body is not used again.
  if (reply === "empty" || isEmpty) await response.body?.cancel();
  return {
    data,
    status,
    headers,
    etag: headers.get("etag"),
    requestId: headers.get("x-request-id"),
    replayed: headers.get("idempotency-replayed") === "true",
  };
}
