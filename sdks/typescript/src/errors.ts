/** What a call throws. A call that was aborted throws the reason of its signal instead. */

import type { Problem } from "./schemas.generated.ts";

/** Everything that the client throws itself. */
export class EmanetError extends Error {
  override readonly name: string = "EmanetError";
}

/** The service refused: an answer of type `application/problem+json` (RFC 9457). */
export class ProblemError extends EmanetError {
  override readonly name = "ProblemError";
  readonly problem: Problem;
  readonly status: number;
  /** The error code. Codes can be added at any time, so handle unknown ones. */
  readonly code: Problem["code"];
  /** Give it to support. */
  readonly requestId: string;
  readonly headers: Headers;

  constructor(problem: Problem, headers: Headers) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
    this.status = problem.status;
    this.code = problem.code;
    this.requestId = problem.request_id;
    this.headers = headers;
  }

  /** The fields that are wrong, of `validation_failed`. */
  get errors(): NonNullable<Problem["errors"]> {
    return this.problem.errors ?? [];
  }
}

/** The authorization server refused (RFC 6749). */
export class OauthError extends EmanetError {
  override readonly name = "OauthError";
  readonly status: number;
  /** For example `invalid_client`. */
  readonly error: string;
  readonly headers: Headers;

  constructor(status: number, body: { readonly error: string; readonly error_description?: string }, headers: Headers) {
    super(body.error_description === undefined ? body.error : `${body.error}: ${body.error_description}`);
    this.status = status;
    this.error = body.error;
    this.headers = headers;
  }
}

/** No answer came: the connection failed, or the attempt took too long. */
export class ConnectionError extends EmanetError {
  override readonly name = "ConnectionError";
  /** Whether the service may have done what was asked. False only if nothing was sent. */
  readonly outcomeUnknown: boolean;

  constructor(message: string, options: { readonly cause: unknown; readonly outcomeUnknown: boolean }) {
    super(message, { cause: options.cause });
    this.outcomeUnknown = options.outcomeUnknown;
  }
}

/** An answer that is not of the API: a page of a proxy, a body that is not JSON. */
export class UnexpectedAnswerError extends EmanetError {
  override readonly name = "UnexpectedAnswerError";
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, headers: Headers, options?: ErrorOptions) {
    super(`the answer with status ${status} is not one of the API`, options);
    this.status = status;
    this.headers = headers;
  }
}

/**
 * Whether something that was thrown is a problem with this code.
 *
 * @example
 * if (isProblem(error, "not_found")) return null;
 */
export function isProblem(error: unknown, code?: Problem["code"]): error is ProblemError {
  return error instanceof ProblemError && (code === undefined || error.code === code);
}
