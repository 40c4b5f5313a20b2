/** Forms of browsers: their fields, the token that binds a form to a browser, and the errors that a person can correct. */

import { timingSafeEqual } from "node:crypto";
import type { Call, Ctx } from "../kernel/http/endpoint.ts";
import { type FieldError, type Language, Problem, type ProblemCode } from "../kernel/problems.ts";
import { pageTexts, type TextKey } from "./page-texts.ts";

/** The fields of a form. Our forms send each field once, so a repeated field is refused. */
export function fieldsOf(call: Call): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(call.raw?.form ?? "")) {
    if (fields.has(name)) throw new Problem("malformed_request");
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** The token in the forms of a browser. It is derived from the secret in this browser's cookie. */
export function formToken({ secrets }: Pick<Ctx, "secrets">, cookie: string): string {
  return secrets.digest("page-form", cookie).toString("base64url");
}

/** Refuses a form that was not made for the browser that sends it. */
export function requireFormToken(ctx: Pick<Ctx, "secrets">, cookie: string, given: string | undefined): void {
  const expected = Buffer.from(formToken(ctx, cookie));
  const actual = Buffer.from(given ?? "");
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw new Problem("origin_not_allowed");
}

/** An error that a person can correct in the form that they sent. */
export interface FormError {
  /** 200 for a wrong field, 401 for wrong credentials, 429 for too many attempts. */
  readonly status: 200 | 401 | 429;
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  /** To be sent with the page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Runs the operation of a form. Returns an error that the person can correct; throws every other problem. */
export async function catchFormError<T>(
  work: () => Promise<T>,
): Promise<{ readonly done: T } | { readonly formError: FormError }> {
  try {
    return { done: await work() };
  } catch (error) {
    const formError = error instanceof Problem ? formErrorOf(error) : null;
    if (formError === null) throw error;
    return { formError };
  }
}

function formErrorOf({ code, extras }: Problem): FormError | null {
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

/** The error text of one field: the page's own text for the code if it has one, else the text of the catalogue. */
export function fieldFailure(
  formError: FormError | null,
  pointer: string,
  language: Language,
  own: Readonly<Record<string, TextKey>> = {},
): string | undefined {
  const error = formError?.errors.find((one) => one.pointer === pointer);
  const textKey = error && (own[error.code] ?? own.any);
  return textKey === undefined ? error?.detail : pageTexts[textKey][language];
}
