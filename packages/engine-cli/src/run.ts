/** Runs one command: opens the repository, runs the command, prints the answer, returns the exit status. */

import { availableParallelism } from "node:os";
import type { EngineContext } from "@emanet/engine/vault";
import type { Answer } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { helpText, readArguments, UsageError } from "./arguments.ts";
import { commands } from "./commands.ts";
import { Progress } from "./progress.ts";
import { createRepository, openRepository } from "./repository.ts";

/** The clock, random bytes and output of the command. */
export interface CommandEnvironment {
  readonly ctx: EngineContext;
  out(line: string): void;
  err(line: string): void;
}

export const exitCodes = { done: 0, failed: 1, usage: 2, incomplete: 3 } as const;

/** Runs the command line and returns the exit status. */
export async function runCommand(args: readonly string[], environment: CommandEnvironment): Promise<number> {
  try {
    const line = readArguments(args, availableParallelism());
    if (line === null) {
      environment.out(helpText);
      return exitCodes.done;
    }
    const answer = await withRepository(line, environment);
    if (line.json) environment.out(JSON.stringify(answer.data));
    else for (const text of answer.lines) environment.out(text);
    return answer.complete ? exitCodes.done : exitCodes.incomplete;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    environment.err(`engine: ${message}`);
    if (!(error instanceof UsageError)) return exitCodes.failed;
    environment.err("engine: see --help");
    return exitCodes.usage;
  }
}

async function withRepository(line: CommandLine, environment: CommandEnvironment): Promise<Answer> {
  if (line.kit !== null) return (await import("./kit-repository.ts")).runWithKit(line, line.kit, environment);
  const repository =
    line.command === "init"
      ? await createRepository(line.repo, environment.ctx)
      : await openRepository(line.repo, environment.ctx);
  const progress = new Progress(environment.err, repository.ctx.now);
  try {
    if (repository.catalogIsNew && line.command !== "rebuild") {
      environment.err("engine: the catalog is missing; rebuilding it first");
      await (await commands.rebuild())(repository, line, progress);
    }
    const command = await commands[line.command]();
    return await command(repository, line, progress);
  } finally {
    progress.end();
    await repository.catalog.close();
  }
}
