/** What browsers send: the fields of a form, and the token that shows whose form it is. */

import { timingSafeEqual } from "node:crypto";
import type { Call, Ctx } from "../kernel/http/endpoint.ts";
import { type FieldError, type Language, Problem, type ProblemCode } from "../kernel/problems.ts";
import { type Word, words } from "./words.ts";

/** The fields of a form. One that is sent twice is no form of ours. */
export function fieldsOf(call: Call): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(call.raw?.form ?? "")) {
    if (fields.has(name)) throw new Problem("malformed_request");
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** What the forms of a browser carry: made from the secret that only this browser's cookie has. */
export function formToken({ secrets }: Pick<Ctx, "secrets">, cookie: string): string {
  return secrets.digest("page-form", cookie).toString("base64url");
}

/** Refuses a form that was not made for the browser that sends it. */
export function requireFormToken(ctx: Pick<Ctx, "secrets">, cookie: string, given: string | undefined): void {
  const expected = Buffer.from(formToken(ctx, cookie));
  const actual = Buffer.from(given ?? "");
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw new Problem("origin_not_allowed");
}

/** What a person can mend in the form that they sent. */
export interface Mend {
  /** A form that is filled in wrongly is shown again like any page; what is refused for safety says so. */
  readonly status: 200 | 401 | 429;
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  /** To be sent with the page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Does what a form asks for. Gives back what the person can mend; every other problem is thrown. */
export async function mending<T>(work: () => Promise<T>): Promise<{ readonly done: T } | { readonly mend: Mend }> {
  try {
    return { done: await work() };
  } catch (error) {
    const mend = error instanceof Problem ? mendOf(error) : null;
    if (mend === null) throw error;
    return { mend };
  }
}

function mendOf({ code, extras }: Problem): Mend | null {
  const retry = extras.headers?.["Retry-After"];
  const errors = extras.errors ?? [];
  switch (code) {
    case "validation_failed":
      return { status: 200, code, errors, headers: {} };
    case "invalid_credentials":
      return { status: 401, code, errors, headers: { "www-authenticate": 'Bearer realm="emanet"' } };
    case "rate_limited":
    case "too_many_attempts":
      return { status: 429, code, errors, headers: retry === undefined ? {} : { "retry-after": retry } };
    default:
      return null;
  }
}

/** What is wrong with one field: in words of the page where it has any for the code, else in the catalogue's. */
export function fieldFailure(
  mend: Mend | null,
  pointer: string,
  language: Language,
  own: Readonly<Record<string, Word>> = {},
): string | undefined {
  const error = mend?.errors.find((one) => one.pointer === pointer);
  const word = error && (own[error.code] ?? own.any);
  return word === undefined ? error?.detail : words[word][language];
}
