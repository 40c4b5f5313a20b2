/** What the agent's command uses of this package: local repositories and the commands that keep them in order. */

export type { Answer, Command, ReadRepository } from "./answer.ts";
export type { CommandLine, CommandName } from "./arguments.ts";
export { UsageError } from "./arguments.ts";
export { commands } from "./commands.ts";
export { openRebuilt, runWithKit } from "./kit-repository.ts";
export { Progress } from "./progress.ts";
export type { Repository } from "./repository.ts";
export { createRepository, openRepository } from "./repository.ts";
export { garbageCollector, preferSmallHeaps, stopHeapGrowth } from "./small-heaps.ts";
