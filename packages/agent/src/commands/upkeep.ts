/** The verbs that keep a local repository in order. They are those of the engine's own command. */

import { availableParallelism } from "node:os";
import type { Answer, CommandName } from "@emanet/engine-cli";
import { commands, createRepository, openRepository, Progress, runWithKit } from "@emanet/engine-cli";
import { exitCodes } from "../failure.ts";
import type { Command, Run } from "./command.ts";
import { threadsOf } from "./options.ts";

const names = ["init", "prune", "repack", "scrub", "rebuild", "stats"] as const satisfies readonly CommandName[];

export const upkeep: Command = (run) => {
  const name = names.find((each) => each === run.line.verb);
  if (name === undefined) throw new Error(`no such verb of upkeep: ${run.line.verb}`);
  return runEngineCommand(run, name);
};

/** Runs a command of the engine on the repository that the command line names, or with `--kit` on the copy of a bucket. */
export async function runEngineCommand(run: Run, name: CommandName) {
  const { line, now, random, err } = run;
  const repo = line.text("repo") ?? "";
  const ctx = { now, random };
  const words = {
    command: name,
    giveUp: line.list("give-up"),
    snapshot: null,
    paths: [],
    kit: line.text("kit"),
    repo,
    json: line.has("json"),
    source: null,
    target: null,
    threads: threadsOf(line, availableParallelism()),
    // `check` promises to read back; without it frames that were verified before are not read.
    full: name === "verify",
  };
  const say = (text: string) => {
    if (run.terminalColumns() !== null && !line.has("quiet")) err(`${text}\n`);
  };
  if (words.kit !== null)
    return told(run, await runWithKit(words, words.kit, { ctx, err: (text) => err(`${text}\n`) }));
  const repository = name === "init" ? await createRepository(repo, ctx) : await openRepository(repo, ctx);
  const progress = new Progress(say, now);
  try {
    if (repository.catalogIsNew && name !== "rebuild") await (await commands.rebuild())(repository, words, progress);
    return told(run, await (await commands[name]())(repository, words, progress));
  } finally {
    progress.end();
    await repository.catalog.close();
  }
}

function told(run: Run, { lines, data, complete }: Answer) {
  run.data({ type: "summary", ...(data as object) });
  for (const text of lines) run.say(text);
  return complete ? exitCodes.done : exitCodes.incomplete;
}
