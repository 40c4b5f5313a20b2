/**
 * The answer of every refusal and every fault: the one place that writes problems. Three forms: `application/problem+json`
 * (RFC 9457), the errors of OAuth (RFC 6749), and a page that the endpoint's `explain` makes.
 */

import { errorFields } from "../log.ts";
import { type Language, Problem, type ProblemCatalogue } from "../problems.ts";
import type { ParserProblem, ParserProblemKind } from "../transport/parser-problem.ts";
import { type Answer, encodeReply, jsonMediaType, problemMediaType } from "./answer.ts";
import type { Endpoint, Reply } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { oauthErrorOf } from "./oauth-error.ts";
import type { RequestContext } from "./request-context.ts";
import { safetyHeaders } from "./safety-headers.ts";

/** For which request and in which language a problem is written. */
interface ProblemSetting {
  /** Our own id of the request. */
  readonly id: string;
  readonly requestId: string;
  readonly language: Language;
  readonly publicUrl: string;
  readonly problems: ProblemCatalogue;
}

/** The answer to anything that was thrown. Whatever is not a {@link Problem} is a fault of ours: it is logged and reported. */
export function problemAnswer(
  kernel: HttpKernel,
  context: RequestContext,
  error: unknown,
  explain?: Endpoint["explain"],
): Answer {
  const operation = context.endpoint?.spec.id;
  const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
  if (problem.extras.cause !== undefined) {
    const fields = { request_id: context.requestId, operation, ...errorFields(problem.extras.cause) };
    kernel.log.error("request_failed", fields);
  }
  if (problem.code === "internal_error") {
    kernel.reports.report(problem.extras.cause, { request_id: context.requestId, operation });
  }
  if (explain !== undefined) return encodeReply(explain(problem, context.language));
  return encodeReply(
    context.errorForm === "oauth" ? oauthErrorReply(kernel, context, problem) : problemReply(kernel, context, problem),
  );
}

/** A problem as a reply, in the form that is sent and that idempotency stores. */
export function problemReply(kernel: HttpKernel, context: RequestContext, problem: Problem): Reply {
  return problemJson(problem, { ...context, publicUrl: kernel.publicUrl(), problems: kernel.declared.problems });
}

/**
 * The answer to a request that the HTTP parser or the checks of its head refuse. Nothing is known about the client, not even
 * its language.
 */
export function parserProblemAnswer(kernel: HttpKernel, kind: ParserProblemKind): ParserProblem {
  const code = kind === "expectation_failed" ? "malformed_request" : kind;
  const id = kernel.random.uuid();
  const { problems } = kernel.declared;
  const setting = { id, requestId: id, language: "en", publicUrl: kernel.publicUrl(), problems } as const;
  const { status, headers, body } = problemJson(new Problem(code), setting);
  const shown = kind === "expectation_failed" ? 417 : status;
  return {
    status: shown,
    headers: { ...headers, ...safetyHeaders(kernel.settings.profile), "X-Request-Id": id },
    body: JSON.stringify({ ...body, status: shown }),
  };
}

function problemJson(problem: Problem, setting: ProblemSetting) {
  const { status, title, detail } = setting.problems[problem.code];
  const { language, id, requestId } = setting;
  return {
    status,
    headers: {
      "Content-Type": problemMediaType,
      "Content-Language": language,
      "Cache-Control": "no-store",
      ...challenge(problem, status),
      ...problem.extras.headers,
    },
    body: {
      type: `${setting.publicUrl}/docs/errors/${problem.code}`,
      title: title[language],
      status,
      code: problem.code,
      detail: detail[language],
      instance: `urn:uuid:${id}`,
      request_id: requestId,
      ...(problem.extras.errors && { errors: problem.extras.errors }),
      ...problem.extras.members,
    },
  };
}

/** RFC 6750: a 401 says how to sign in, and what was wrong with the token. */
function challenge({ code }: Problem, status: number): Record<string, string> {
  if (status !== 401 && code !== "insufficient_scope") return {};
  const tokenWasWrong = code === "invalid_token" || code === "token_expired";
  const error = tokenWasWrong ? ', error="invalid_token"' : code === "insufficient_scope" ? `, error="${code}"` : "";
  return { "WWW-Authenticate": `Bearer realm="emanet"${error}` };
}

/** A problem of the kernel's stages in the form of RFC 6749. */
function oauthErrorReply(kernel: HttpKernel, { language }: RequestContext, problem: Problem): Reply {
  const { status, detail } = kernel.declared.problems[problem.code];
  return {
    status,
    headers: {
      "Content-Type": jsonMediaType,
      "Content-Language": language,
      "Cache-Control": "no-store",
      Pragma: "no-cache",
      ...problem.extras.headers,
    },
    // RFC 6749 allows only ASCII in a description.
    body: { error: oauthErrorOf(status), error_description: detail.en },
  };
}
