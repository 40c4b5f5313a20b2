/** How a command ends: exit codes, and errors that say what a person can do. docs/AGENT.md lists the codes. */

export const exitCodes = {
  done: 0,
  /** It failed; nothing of what was asked is complete. */
  failed: 1,
  usage: 2,
  /** It is done, but something is missing, was skipped or is damaged: the output names it. */
  incomplete: 3,
  /** This machine has no sign-in, or the service refuses the credential. */
  notSignedIn: 4,
  /** The service cannot be reached. */
  unreachable: 5,
  /** Another run of the same source is in progress. */
  busy: 6,
  /** 128 + SIGINT, as shells have it. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure with a message for a person and its exit code. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: ExitCode;
  /** What to do about it. */
  readonly advice: string | null;

  constructor(message: string, { exitCode = exitCodes.failed, advice = null, cause }: FailureOptions = {}) {
    super(message, { cause });
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

interface FailureOptions {
  readonly exitCode?: ExitCode;
  readonly advice?: string | null;
  readonly cause?: unknown;
}

export function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: exitCodes.usage });
}

/** The code of a system error, such as `ENOENT`; null for other errors. */
export function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
