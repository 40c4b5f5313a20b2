/** The command line: its options, and the help text. */

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

const kitCommands: readonly CommandName[] = ["snapshots", "restore", "verify"];

export interface CommandLine {
  readonly command: CommandName;
  /** The snapshot of `restore` and `delete`: an id, the start of one, or `latest`. */
  readonly snapshot: string | null;
  /** What `backup` backs up, or the parts that `restore` restores. */
  readonly paths: readonly string[];
  readonly repo: string;
  /** A recovery kit: then `repo` is a copy of a bucket. */
  readonly kit: string | null;
  readonly json: boolean;
  readonly source: string | null;
  readonly target: string | null;
  readonly threads: number;
  readonly full: boolean;
  /** Ids of snapshots that the catalog cannot recover and that the caller gives up. They do not stop prune. */
  readonly giveUp: readonly string[];
}

/** A wrong command line. The message names the mistake. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** More threads would only wait for each other. */
const maxThreads = 64;

export const helpText = `engine <command> --repo DIR [--json]

  init                                    create an empty repository
  backup PATH… [--source NAME]            back up files and folders
  snapshots                               list snapshots
  restore <id|latest> --target DIR        restore into a missing or empty folder, or continue an interrupted
                                          restore; --path P restores parts; --full hashes every block
  verify [--full]                         check all snapshots against their ids; --full reads and decrypts all data
  scrub                                   read all packs and manifests and check them without secret keys
  prune [--give-up ID]                    delete packs that no snapshot needs; --give-up ID also deletes the
                                          manifest of a snapshot that cannot be recovered
  repack                                  copy scattered blocks together, rewrite wasteful packs, heal damaged frames
  rebuild                                 rebuild the catalog from the object store alone
  delete <id>                             delete a snapshot
  stats                                   print sizes and counts

  --kit FILE    snapshots, restore and verify of a vault of the service, with its recovery kit; DIR is then a copy
                of the bucket, which stays as it is
  --threads N   worker threads (default: one per core); 0 uses the main thread only
  --json        one JSON object on standard output

Exit status: 0 done · 1 failed · 2 wrong usage · 3 done, but something is missing or damaged (see the output)`;

/** Reads the arguments. Returns null for --help. */
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
    throw new UsageError(`--threads takes a number from 0 to ${maxThreads}`);
  return {
    command,
    giveUp: values["give-up"] ?? [],
    snapshot: command === "restore" || command === "delete" ? (rest[0] ?? null) : null,
    paths: command === "restore" ? (values.path ?? []) : rest,
    repo: values.repo,
    kit: kitOf(command, values.kit),
    json: values.json === true,
    source: values.source ?? null,
    target: values.target ?? null,
    threads,
    full: values.full === true,
  };
}

/** A kit opens and does not sign: only commands that read take one. */
function kitOf(command: CommandName, kit: string | undefined): string | null {
  if (kit !== undefined && !kitCommands.includes(command))
    throw new UsageError(`--kit is for ${kitCommands.join(", ")}: a recovery kit only reads`);
  return kit ?? null;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        repo: { type: "string" },
        kit: { type: "string" },
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
