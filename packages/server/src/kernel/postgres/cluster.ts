/**
 * The cluster: the folder `<data>/postgres` that holds every database of the embedded server. It appears whole or not
 * at all: it is made under another name and renamed when it is complete and on disk.
 */

import { execFile } from "node:child_process";
import { readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { syncFolder } from "../durable-file.ts";
import { StartError } from "../start-error.ts";
import { type PostgresBinaries, programEnvironment } from "./binaries.ts";
import type { FileOwner, Launcher } from "./launcher.ts";

const run = promisify(execFile);

/** A second on a fast disk, most of a minute on a slow one. */
const initTimeoutMs = 5 * 60_000;

/** The server's own administrator. The service uses it only to make its role and database. */
export const superuser = "postgres";

/** The owner of the cluster's files, or null if there is no cluster. Refuses one that these programs cannot run. */
export async function inspectCluster(cluster: string, binaries: PostgresBinaries): Promise<FileOwner | null> {
  const found = await stat(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (found === null) return null;
  const text = await readFile(path.join(cluster, "PG_VERSION"), "utf8").catch(() => "");
  const major = Number(text.trim());
  if (!Number.isInteger(major) || major === 0) {
    throw new StartError(
      "postgres_version",
      `${cluster} is not a PostgreSQL cluster (no readable PG_VERSION). Restore it from a backup, or move it away.`,
    );
  }
  if (major !== binaries.major) throw otherMajor(cluster, major, binaries.major);
  return { uid: found.uid, gid: found.gid };
}

function otherMajor(cluster: string, found: number, ours: number): StartError {
  const advice =
    found > ours
      ? "Start the release of Emanet that made it."
      : `Start the release of Emanet that made it, dump the database with pg_dump ${found}, and restore the dump into ` +
        "the database of a new data folder.";
  return new StartError(
    "postgres_version",
    `${cluster} was made by PostgreSQL ${found}; this release brings PostgreSQL ${ours}. It was not touched. ${advice}`,
  );
}

export interface CreateClusterOptions {
  readonly cluster: string;
  readonly binaries: PostgresBinaries;
  readonly launcher: Launcher;
  /** False only for the clusters of tests: skips the wait for the disk. */
  readonly durable: boolean;
}

export async function createCluster({ cluster, binaries, launcher, durable }: CreateClusterOptions): Promise<void> {
  const unfinished = `${cluster}.new`;
  await rm(unfinished, { recursive: true, force: true });
  const [command = "", ...words] = [...launcher.words, binaries.initdb, ...initArguments(unfinished, binaries.major)];
  try {
    await run(command, durable ? words : [...words, "--no-sync"], { env: programEnvironment, timeout: initTimeoutMs });
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new StartError("postgres_failed", `The PostgreSQL cluster ${cluster} could not be made: ${output}`, {
      cause: error,
    });
  }
  await rename(unfinished, cluster);
  if (durable) await syncFolder(path.dirname(cluster));
}

function initArguments(folder: string, major: number): readonly string[] {
  // Sorting by bytes is the same on every machine and never changes under an index when the C library does.
  const locale = major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : [];
  return [
    `--pgdata=${folder}`,
    `--username=${superuser}`,
    "--encoding=UTF8",
    "--locale=C",
    ...locale,
    "--data-checksums",
    // Every user who reaches the socket can sign in. Only the service's user can open its folder.
    "--auth-local=trust",
    "--auth-host=reject",
    "--no-instructions",
  ];
}
