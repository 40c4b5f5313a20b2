/**
 * The module of each command, loaded only when the command runs. Each loaded file takes a millisecond, which matters to a
 * backup that finds nothing changed.
 */

import type { Command } from "./answer.ts";
import { ok } from "./answer.ts";
import type { CommandName } from "./arguments.ts";

export const commands: Record<CommandName, () => Promise<Command>> = {
  init:
    async () =>
    async ({ folder }) =>
      ok([`created a repository in ${folder}`, "keep a copy of master.key elsewhere"], { repo: folder }),
  backup: async () => (await import("./backup-command.ts")).backupCommand,
  restore: async () => (await import("./restore-command.ts")).restoreCommand,
  snapshots: async () => (await import("./list-commands.ts")).snapshotsCommand,
  stats: async () => (await import("./list-commands.ts")).statsCommand,
  verify: async () => (await import("./upkeep-commands.ts")).verifyCommand,
  scrub: async () => (await import("./upkeep-commands.ts")).scrubCommand,
  prune: async () => (await import("./upkeep-commands.ts")).pruneCommand,
  repack: async () => (await import("./upkeep-commands.ts")).repackCommand,
  rebuild: async () => (await import("./upkeep-commands.ts")).rebuildCommand,
  delete: async () => (await import("./upkeep-commands.ts")).deleteCommand,
};
