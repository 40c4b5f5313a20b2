/** Runs a command line: finds the verb, runs it, and turns whatever it throws into a message and an exit code. */

import { CommandLine, parseCommandLine } from "./command-line/parse.ts";
import type { VerbName } from "./command-line/verbs.ts";
import type { Command, Run } from "./commands/command.ts";
import type { AgentContext } from "./context.ts";
import { explain } from "./explain.ts";
import { type ExitCode, exitCodes, systemCode } from "./failure.ts";

/** The module of each verb is loaded only when it runs: a backup that finds nothing changed takes a quarter of a second. */
const commands: Record<VerbName, () => Promise<Command>> = {
  login: async () => (await import("./commands/login.ts")).login,
  logout: async () => (await import("./commands/login.ts")).logout,
  backup: async () => (await import("./commands/backup.ts")).backup,
  snapshots: async () => (await import("./commands/snapshots.ts")).snapshots,
  ls: async () => (await import("./commands/ls.ts")).ls,
  find: async () => (await import("./commands/find.ts")).find,
  history: async () => (await import("./commands/history.ts")).history,
  diff: async () => (await import("./commands/diff.ts")).diff,
  cat: async () => (await import("./commands/cat.ts")).cat,
  restore: async () => (await import("./commands/restore.ts")).restore,
  check: async () => (await import("./commands/check.ts")).check,
  forget: async () => (await import("./commands/forget.ts")).forget,
  init: async () => (await import("./commands/upkeep.ts")).upkeep,
  prune: async () => (await import("./commands/upkeep.ts")).upkeep,
  repack: async () => (await import("./commands/upkeep.ts")).upkeep,
  scrub: async () => (await import("./commands/upkeep.ts")).upkeep,
  rebuild: async () => (await import("./commands/upkeep.ts")).upkeep,
  stats: async () => (await import("./commands/upkeep.ts")).upkeep,
  orders: async () => (await import("./commands/orders.ts")).orders,
  schedule: async () => (await import("./commands/schedule.ts")).schedule,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  completion: async () => (await import("./commands/completion.ts")).completion,
  status: async () => (await import("./commands/status.ts")).status,
};

export async function runCommand(args: readonly string[], context: AgentContext): Promise<ExitCode> {
  try {
    const parsed = parseCommandLine(args);
    if (!(parsed instanceof CommandLine)) {
      const { helpText } = await import("./command-line/help.ts");
      context.out(`${helpText(parsed.help)}\n`);
      return exitCodes.done;
    }
    const command = await commands[parsed.verb]();
    return await command(runOf(context, parsed));
  } catch (error) {
    return report(error, args.includes("--json"), context);
  }
}

function runOf(context: AgentContext, line: CommandLine): Run {
  const json = line.has("json");
  return {
    ...context,
    line,
    say: (text) => {
      if (!json) context.out(`${text}\n`);
    },
    data: (value) => {
      if (json) context.out(`${JSON.stringify(value)}\n`);
    },
  };
}

function report(error: unknown, json: boolean, context: AgentContext): ExitCode {
  // The reader of our output has gone (`| head`): that is no failure.
  if (systemCode(error) === "EPIPE") return exitCodes.done;
  if (context.signal.aborted) return exitCodes.interrupted;
  const { message, advice, exitCode, code } = explain(error, context);
  if (json) context.out(`${JSON.stringify({ type: "error", code, message, ...(advice && { advice }) })}\n`);
  context.err(`emanet: ${message}\n`);
  if (advice !== null) context.err(`emanet: ${advice}\n`);
  if (exitCode === exitCodes.usage) context.err("emanet: see `emanet --help`\n");
  return exitCode;
}
