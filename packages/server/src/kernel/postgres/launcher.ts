/**
 * As whom PostgreSQL runs. It refuses to run as root, and must not outlive the service. A *launcher* is the words to
 * put before its command; they replace themselves (exec), so the process keeps the id that the service knows.
 *
 * | service runs as | launcher |
 * |---|---|
 * | a user, Linux | `setpriv --pdeathsig INT`: the kernel stops the server when the service dies, even by kill -9 |
 * | a user without a name (containers) | the same in a user namespace in which it has one |
 * | a user, elsewhere | none; a server that outlives its service is ended by the next start (see orphan.ts) |
 * | root, Linux | a user namespace in which root is seen as an ordinary user; files keep belonging to root |
 * | root, where namespaces are forbidden or do not reach the folder | another user, with the right to read root's folders |
 * | root, elsewhere | refused |
 *
 * Invariant: a cluster is always run as the user who owns its files, because PostgreSQL insists on it.
 */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { StartError } from "../start-error.ts";
import { programEnvironment } from "./binaries.ts";

const run = promisify(execFile);

/** Starting three small programs, on a machine that is busy. */
const probeTimeoutMs = 30_000;

/** "nobody" on every Linux; root's clusters belong to it where user namespaces cannot be used. */
const nobody = { uid: 65_534, gid: 65_534 } as const;

/** SIGINT is PostgreSQL's fast shutdown: it ends sessions, writes a checkpoint and leaves nothing to recover. */
const dieWithParent = ["setpriv", "--pdeathsig", "INT"] as const;

/**
 * The inner id is not 0, and has a name in every passwd: initdb needs the name of the user who runs it. Outside it is still
 * the user who runs the service.
 */
const seenAsUser = ["unshare", "--user", `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`] as const;

export interface Launcher {
  readonly words: readonly string[];
  /** Who must own the cluster's files; undefined where it is the user who runs the service. */
  readonly owner?: FileOwner | undefined;
}

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface LauncherOptions {
  /** The folder of the cluster, which may not exist yet; the server must be able to write there. */
  readonly folder: string;
  readonly postgres: string;
  /** Owner of the cluster that exists already. */
  readonly clusterOwner: FileOwner | null;
  /** False only in the test of a server that outlives its service. */
  readonly tied: boolean;
}

/** Finds the first launcher under which PostgreSQL really runs and can write into the folder. */
export async function chooseLauncher(options: LauncherOptions): Promise<Launcher> {
  for (const launcher of candidates(options)) {
    if (await works(launcher, options)) return launcher;
  }
  if (process.getuid?.() !== 0) return { words: [] };
  throw new StartError(
    "postgres_failed",
    "PostgreSQL does not run as root, and no way was found to run it as another user (tried: user namespaces, setpriv). " +
      "Start the service as an ordinary user, or set EMANET_DATABASE_URL to a PostgreSQL of your own.",
  );
}

function candidates({ clusterOwner, tied }: LauncherOptions): readonly Launcher[] {
  if (process.platform !== "linux") return [];
  const tie = tied ? dieWithParent : ["setpriv"];
  if (process.getuid?.() !== 0) return [{ words: tie }, { words: [...seenAsUser, ...tie] }];
  const owner = clusterOwner === null || clusterOwner.uid === 0 ? nobody : clusterOwner;
  const asOwner = {
    words: [...tie, `--reuid=${owner.uid}`, `--regid=${owner.gid}`, "--clear-groups", ...reachRootsFolders],
    owner,
  };
  const inNamespace = { words: [...seenAsUser, ...tie] };
  return owner === nobody && clusterOwner?.uid !== nobody.uid ? [inNamespace, asOwner] : [asOwner];
}

/** The data folder and the folders above it may be closed to everybody but root. */
const reachRootsFolders = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"] as const;

/** Writes into the folder, has a name, and runs the program. */
const probeScript = 'mkdir "$1" && id -un >/dev/null && exec "$2" --version';

async function works(launcher: Launcher, { folder, postgres }: LauncherOptions): Promise<boolean> {
  const probe = path.join(folder, "postgres.probe");
  const [command = "", ...words] = [...launcher.words, "sh", "-c", probeScript, "sh"];
  try {
    await run(command, [...words, probe, postgres], { env: programEnvironment, timeout: probeTimeoutMs });
    return true;
  } catch {
    // Missing, forbidden or unsuitable here: the next candidate is tried, and the caller says if none is left.
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** Gives a cluster's files to the user who will run it. */
export async function giveTo(owner: FileOwner, folder: string): Promise<void> {
  await run("chown", ["-R", "-h", `${owner.uid}:${owner.gid}`, folder], { env: programEnvironment });
}
