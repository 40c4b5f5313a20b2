/** The command line: what each command takes, and the help text that says so. */

import { parseArgs } from "node:util";

export const commandNames = [
  "init",
  "backup",
  "snapshots",
  "restore",
  "verify",
  "prune",
  "repack",
  "rebuild",
  "stats",
  "delete",
  "scrub",
] as const;

export type CommandName = (typeof commandNames)[number];

export interface CommandLine {
  readonly command: CommandName;
  readonly paths: readonly string[];
  readonly repo: string;
  readonly json: boolean;
  readonly source: string | null;
  readonly target: string | null;
  readonly threads: number;
  readonly full: boolean;
  /** Snapshots whose unreadable manifests no longer stop collection. */
  readonly givenUp: readonly string[];
}

/** A command line that cannot be run; the message says what is missing. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** More threads than this only wait for each other. */
const maxThreads = 64;

export const helpText = `engine <command> --repo DIR [--json]

  init                                    make an empty repository
  backup PATH… [--source NAME]            back up files and folders
  snapshots                               list snapshots
  restore <id|latest> --target DIR        restore into a missing or empty folder, or go on with an interrupted
                                          restore; --path P restores parts; --full hashes every block
  verify [--full]                         prove all snapshots; --full reads and opens all data
  scrub                                   read every pack and check it without any secret key
  prune [--give-up ID]                  delete what no snapshot needs; give up a snapshot that cannot be read
  repack                                   lay scattered data down again, rewrite wasteful packs, heal damage
  rebuild                                 make the catalog anew from the object store alone
  delete <id>                             delete a snapshot
  stats                                   sizes of everything

  --threads N   worker threads (default: one per core); 0 works in the main thread
  --json        one JSON object on standard output

Exit status: 0 done · 1 failed · 2 wrong usage · 3 done, but something is missing or damaged (see the output)`;

/** Reads the arguments. Returns null where help was asked for. */
export function readArguments(args: readonly string[], cores: number): CommandLine | null {
  const { values, positionals } = parse(args);
  const [name, ...rest] = positionals;
  if (values.help === true) return null;
  if (name === undefined) throw new UsageError("no command given");
  const command = commandNames.find((each) => each === name);
  if (command === undefined) throw new UsageError(`unknown command ${name}`);
  if (values.repo === undefined) throw new UsageError("--repo DIR is missing");
  const threads = values.threads === undefined ? cores : Number(values.threads);
  if (!Number.isInteger(threads) || threads < 0 || threads > maxThreads)
    throw new UsageError("--threads takes a number");
  return {
    command,
    givenUp: values["give-up"] ?? [],
    paths: command === "restore" ? [rest[0] ?? "latest", ...(values.path ?? [])] : rest,
    repo: values.repo,
    json: values.json === true,
    source: values.source ?? null,
    target: values.target ?? null,
    threads,
    full: values.full === true,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        repo: { type: "string" },
        source: { type: "string" },
        target: { type: "string" },
        path: { type: "string", multiple: true },
        "give-up": { type: "string", multiple: true },
        threads: { type: "string" },
        full: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
