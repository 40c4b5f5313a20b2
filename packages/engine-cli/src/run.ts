/** Runs one command: opens the repository, does the work, prints the answer, and says honestly how it went. */

import { availableParallelism } from "node:os";
import type { CommandLine } from "./arguments.ts";
import { helpText, readArguments, UsageError } from "./arguments.ts";
import type { Answer } from "./commands.ts";
import { commands } from "./commands.ts";
import { Progress } from "./progress.ts";
import { createRepository, openRepository } from "./repository.ts";

export interface Streams {
  out(line: string): void;
  err(line: string): void;
}

export const exitCodes = { done: 0, failed: 1, usage: 2, incomplete: 3 } as const;

/** Runs the command line and returns the exit status. */
export async function runCommand(args: readonly string[], streams: Streams): Promise<number> {
  try {
    const line = readArguments(args, availableParallelism());
    if (line === null) {
      streams.out(helpText);
      return exitCodes.done;
    }
    const answer = await withRepository(line, streams);
    if (line.json) streams.out(JSON.stringify(answer.data));
    else for (const text of answer.lines) streams.out(text);
    return answer.complete ? exitCodes.done : exitCodes.incomplete;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    streams.err(`engine: ${message}`);
    if (!(error instanceof UsageError)) return exitCodes.failed;
    streams.err("engine: --help says how");
    return exitCodes.usage;
  }
}

async function withRepository(line: CommandLine, streams: Streams): Promise<Answer> {
  const repository = line.command === "init" ? await createRepository(line.repo) : await openRepository(line.repo);
  const progress = new Progress(streams.err, repository.ctx.now);
  try {
    if (repository.indexIsNew && line.command !== "rebuild") {
      streams.err("engine: the index is missing; rebuilding it first");
      await commands.rebuild(repository, line, progress);
    }
    return await commands[line.command](repository, line, progress);
  } finally {
    progress.end();
    await repository.index.close();
  }
}
