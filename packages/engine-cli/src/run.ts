/** Runs one command: opens the repository, runs the command, prints the answer, returns the exit status. */

import { availableParallelism } from "node:os";
import type { EngineContext } from "@emanet/engine/vault";
import type { Answer, ReadRepository } from "./answer.ts";
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

/** The catalog is made from the copy of the bucket, then the command runs. */
async function withKit(line: CommandLine, kit: string, { ctx, err }: CommandEnvironment): Promise<Answer> {
  const [{ openWithKit }, { rebuild }] = await Promise.all([import("./kit-repository.ts"), import("@emanet/engine")]);
  const repository = openWithKit(line.repo, kit, ctx);
  const progress = new Progress(err, ctx.now);
  try {
    const report = await rebuild(repository.vault, ({ packs }) => progress.report(() => `${packs} packs`));
    for (const id of report.hidden) err(`engine: snapshot ${id} is in the vault's chain and has no valid manifest`);
    const answer = await (await kitCommand(line))(repository, line, progress);
    return { ...answer, complete: answer.complete && report.hidden.length === 0 };
  } finally {
    progress.end();
    await repository.close();
  }
}

type ReadCommand = (repository: ReadRepository, line: CommandLine, progress: Progress) => Promise<Answer>;

async function kitCommand({ command }: CommandLine): Promise<ReadCommand> {
  if (command === "restore") return (await import("./restore-command.ts")).restoreCommand;
  if (command === "verify") return (await import("./upkeep-commands.ts")).verifyCommand;
  return (await import("./list-commands.ts")).snapshotsCommand;
}

async function withRepository(line: CommandLine, environment: CommandEnvironment): Promise<Answer> {
  if (line.kit !== null) return withKit(line, line.kit, environment);
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
