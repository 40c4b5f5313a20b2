/** What an error means to a person: a sentence, what to do, and the exit code. */

import { ConnectionError, OauthError, ProblemError } from "@emanet/client/source";
import { UsageError } from "@emanet/engine-cli";
import type { AgentContext } from "./context.ts";
import { CommandFailure, type ExitCode, exitCodes, systemCode } from "./failure.ts";

export interface Explanation {
  /** For programs: a problem's code, a system error's code, or a word of ours. */
  readonly code: string;
  readonly message: string;
  readonly advice: string | null;
  readonly exitCode: ExitCode;
}

/** Codes of problems with a credential. */
const signInCodes: ReadonlySet<string> = new Set([
  "missing_token",
  "invalid_token",
  "token_expired",
  "insufficient_scope",
]);

export function explain(error: unknown, context: AgentContext): Explanation {
  for (let at: unknown = error; at !== undefined && at !== null; at = at instanceof Error ? at.cause : null) {
    const found = explainOne(at, context);
    if (found !== null) return found;
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "failed", message, advice: null, exitCode: exitCodes.failed };
}

function explainOne(error: unknown, { texts }: AgentContext): Explanation | null {
  if (error instanceof CommandFailure) {
    const { message, advice, exitCode } = error;
    return { code: exitCode === exitCodes.usage ? "usage" : "failed", message, advice, exitCode };
  }
  if (error instanceof UsageError)
    return { code: "usage", message: error.message, advice: null, exitCode: exitCodes.usage };
  if (error instanceof OauthError) {
    const { error: code, message } = error;
    return { code, message, advice: texts.adviceLogin, exitCode: exitCodes.notSignedIn };
  }
  if (error instanceof ProblemError) {
    const { code, problem, requestId } = error;
    const exitCode = signInCodes.has(code) ? exitCodes.notSignedIn : exitCodes.failed;
    const fields = error.errors.map(({ pointer, detail }) => `; ${pointer}: ${detail}`).join("");
    const message = `${problem.title}: ${problem.detail}${fields} (${code}, ${requestId})`;
    return { code, message, advice: exitCode === exitCodes.notSignedIn ? texts.adviceLogin : null, exitCode };
  }
  if (error instanceof ConnectionError) return explainConnection(error);
  const code = systemCode(error);
  if (code === "ENOSPC") return { code, message: "the disk is full", advice: null, exitCode: exitCodes.failed };
  return null;
}

/** Codes of TLS, in the words of `emanet doctor`. */
const certificateCodes: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate authority is not known to this machine",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate authority is not known to this machine",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate authority is not known to this machine",
  CERT_HAS_EXPIRED: "its certificate has expired, or the clock of this machine is ahead",
  CERT_NOT_YET_VALID: "its certificate is not valid yet, or the clock of this machine is behind",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

function explainConnection(error: ConnectionError): Explanation {
  const code = connectionCode(error);
  const why = certificateCodes[code];
  if (why !== undefined) {
    const advice = "`emanet doctor` says more. --ca-file or EMANET_CA_FILE names an authority of your own.";
    return { code, message: `the service is not trusted: ${why} (${code})`, advice, exitCode: exitCodes.unreachable };
  }
  const message = `the service cannot be reached (${code})`;
  return { code, message, advice: "`emanet doctor` looks for the reason.", exitCode: exitCodes.unreachable };
}

/** The code of the system behind a failed connection. Several addresses that failed are one error with several causes. */
export function connectionCode(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const inner = at instanceof AggregateError ? at.errors.find((each) => systemCode(each) !== null) : at;
    const code = systemCode(inner);
    if (code !== null) return code;
    if (at.name === "TimeoutError") return "ETIMEDOUT";
  }
  return "connection_failed";
}
