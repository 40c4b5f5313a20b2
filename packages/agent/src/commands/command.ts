/** What a verb is: a function that gets its context and the command line, writes its output and says how it ended. */

import type { CommandLine } from "../command-line/parse.ts";
import type { AgentContext } from "../context.ts";
import type { ExitCode } from "../failure.ts";

export interface Run extends AgentContext {
  readonly line: CommandLine;
  /** One line for people; nothing with --json. */
  say(text: string): void;
  /** One JSON object for programs; nothing without --json. */
  data(value: object): void;
}

export type Command = (run: Run) => Promise<ExitCode>;
