/**
 * A vault that is read with a recovery kit and a copy of the bucket, without the service. The kit opens and does not sign, so nothing is written. The
 * catalog is made in a folder for temporary files, which is removed at the end.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EngineContext, openReadableVault, openSqliteCatalog } from "@emanet/engine/vault";
import type { Answer, ReadRepository } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import { openCopiedBucket } from "./copied-bucket.ts";
import { Progress } from "./progress.ts";

export interface KitRepository extends ReadRepository {
  close(): Promise<void>;
}

interface Environment {
  readonly ctx: EngineContext;
  err(line: string): void;
}

/** Runs `snapshots`, `restore` or `verify`. */
export async function runWithKit(line: CommandLine, kit: string, environment: Environment): Promise<Answer> {
  const progress = new Progress(environment.err, environment.ctx.now);
  try {
    const { repository, hidden } = await openRebuilt(line.repo, kit, environment, progress);
    try {
      const answer = await (await kitCommand(line))(repository, line, progress);
      return { ...answer, complete: answer.complete && hidden.length === 0 };
    } finally {
      await repository.close();
    }
  } finally {
    progress.end();
  }
}

/** Opens the copy of a bucket and makes its catalog. `hidden`: snapshots that the chain has and that cannot be read; they are named. */
export async function openRebuilt(
  folder: string,
  kit: string,
  { ctx, err }: Environment,
  progress: Progress,
): Promise<{ readonly repository: KitRepository; readonly hidden: readonly string[] }> {
  const { rebuild } = await import("@emanet/engine");
  const repository = openWithKit(folder, kit, ctx);
  try {
    const { hidden } = await rebuild(repository.vault, ({ packs }) => progress.report(() => `${packs} packs`));
    for (const id of hidden) err(`snapshot ${id} is in the vault's chain and has no valid manifest`);
    return { repository, hidden };
  } catch (error) {
    await repository.close();
    throw error;
  }
}

type ReadCommand = (repository: ReadRepository, line: CommandLine, progress: Progress) => Promise<Answer>;

async function kitCommand({ command }: CommandLine): Promise<ReadCommand> {
  if (command === "restore") return (await import("./restore-command.ts")).restoreCommand;
  if (command === "verify") return (await import("./upkeep-commands.ts")).verifyCommand;
  return (await import("./list-commands.ts")).snapshotsCommand;
}

/** The file that `recovery_kits.download` answers: the kit and the key that opens it. */
interface KitFile {
  readonly kit: string;
  readonly key: string;
}

function openWithKit(folder: string, kitFile: string, ctx: EngineContext): KitRepository {
  const { kit, key } = readKit(kitFile);
  const store = openCopiedBucket(folder);
  const place = mkdtempSync(path.join(tmpdir(), "emanet-kit-"));
  const catalog = openSqliteCatalog(path.join(place, "catalog.sqlite"), ctx);
  const close = async () => {
    await catalog.close();
    rmSync(place, { recursive: true, force: true });
  };
  try {
    return { vault: openReadableVault({ ctx, store, catalog }, key, kit), catalog, close };
  } catch (error) {
    void close();
    throw error;
  }
}

function readKit(file: string): { readonly kit: Buffer; readonly key: Buffer } {
  let read: Partial<KitFile>;
  try {
    read = JSON.parse(readFileSync(file, "utf8")) as Partial<KitFile>;
  } catch (cause) {
    throw new UsageError(`${file} is no recovery kit`, { cause });
  }
  const { kit, key } = read;
  if (typeof kit !== "string" || typeof key !== "string") throw new UsageError(`${file} is no recovery kit`);
  return { kit: Buffer.from(kit, "base64"), key: Buffer.from(key, "base64") };
}
