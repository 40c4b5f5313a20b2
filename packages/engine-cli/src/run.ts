/** Runs one command: opens the repository, does the work, prints the answer, and says honestly how it went. */

import { availableParallelism } from "node:os";
import type { EngineContext } from "@emanet/engine/vault";
import type { Answer } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { helpText, readArguments, UsageError } from "./arguments.ts";
import { commands } from "./commands.ts";
import { Progress } from "./progress.ts";
import { createRepository, openRepository } from "./repository.ts";

/** What the command has of the outside world. */
export interface Surroundings {
  readonly ctx: EngineContext;
  out(line: string): void;
  err(line: string): void;
}

export const exitCodes = { done: 0, failed: 1, usage: 2, incomplete: 3 } as const;

/** Runs the command line and returns the exit status. */
export async function runCommand(args: readonly string[], around: Surroundings): Promise<number> {
  try {
    const line = readArguments(args, availableParallelism());
    if (line === null) {
      around.out(helpText);
      return exitCodes.done;
    }
    const answer = await withRepository(line, around);
    if (line.json) around.out(JSON.stringify(answer.data));
    else for (const text of answer.lines) around.out(text);
    return answer.complete ? exitCodes.done : exitCodes.incomplete;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    around.err(`engine: ${message}`);
    if (!(error instanceof UsageError)) return exitCodes.failed;
    around.err("engine: --help says how");
    return exitCodes.usage;
  }
}

async function withRepository(line: CommandLine, around: Surroundings): Promise<Answer> {
  const repository =
    line.command === "init"
      ? await createRepository(line.repo, around.ctx)
      : await openRepository(line.repo, around.ctx);
  const progress = new Progress(around.err, repository.ctx.now);
  try {
    if (repository.catalogIsNew && line.command !== "rebuild") {
      around.err("engine: the catalog is missing; rebuilding it first");
      await (await commands.rebuild())(repository, line, progress);
    }
    const command = await commands[line.command]();
    return await command(repository, line, progress);
  } finally {
    progress.end();
    await repository.catalog.close();
  }
}
