/**
 * The other programs, each with the settings that its users would choose for speed and size. Caches
 * and configurations are beside the repository and stay from one command to the next.
 */

import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { Peer } from "../peers/peers.ts";
import { type Command, folderSize, measure } from "./measure.ts";
import type { Repository, System } from "./system.ts";

export const password = "benchmark only";

export function systemOf(peer: Peer): System {
  switch (peer.name) {
    case "restic":
      return restic(peer);
    case "kopia":
      return kopia(peer);
    case "rustic":
      return rustic(peer);
  }
}

function restic({ program, version }: Peer): System {
  return {
    name: "restic",
    version,
    settings: "compression auto, packs of 16 MiB, warm cache, --no-scan; upkeep is prune with its defaults",
    create: (folder) => resticRepository({ program, location: folder, folder, flags: [] }),
  };
}

export interface ResticPlace {
  readonly program: string;
  /** Of the repository, as the program names it. */
  readonly location: string;
  /** Where its objects are; the cache is beside it. */
  readonly folder: string;
  readonly flags: readonly string[];
}

/** Makes a repository of restic. */
export async function resticRepository({ program, location, folder, flags }: ResticPlace): Promise<Repository> {
  const env = { RESTIC_PASSWORD: password, RESTIC_CACHE_DIR: `${folder}.cache` };
  const run = (...args: readonly string[]): Command => ({
    program,
    args: ["-q", "-r", location, ...flags, ...args],
    env,
  });
  await measure(run("init"));
  return {
    // 3: a file could not be read.
    backup: (tree) => ({
      ...run("backup", "--no-scan", "--host", "bench", "--compression", "auto", tree),
      alsoFine: [3],
    }),
    backedUp: async () => {},
    restore: (tree, target) => run("restore", `latest:${tree}`, "--target", target),
    restoreFile: (tree, file, target) =>
      run("dump", "--target", path.join(target, "file"), "latest", path.join(tree, file)),
    upkeep: () => [run("prune")],
    verify: () => run("check", "--read-data"),
    stored: () => folderSize(folder),
    newBytes: async () => null,
  };
}

function kopia({ program, version }: Peer): System {
  return {
    name: "kopia",
    version,
    settings:
      "compression zstd-fastest (off by default), default splitter, warm cache, no log files; upkeep is full maintenance without safety delays",
    create: async (folder) => {
      const run = kopiaCommands(program, folder);
      await createKopia(run, folder);
      return kopiaRepository(run, folder, [kopiaMaintenance(run)]);
    },
  };
}

export type KopiaRun = (...args: readonly string[]) => Command;

/** Commands of kopia with a configuration of its own, at `place.config`. */
export function kopiaCommands(program: string, place: string): KopiaRun {
  const env = {
    KOPIA_PASSWORD: password,
    KOPIA_CONFIG_PATH: `${place}.config`,
    KOPIA_CACHE_DIRECTORY: `${place}.cache`,
    KOPIA_LOG_DIR: `${place}.log`,
    KOPIA_CHECK_FOR_UPDATES: "false",
  };
  const quiet = ["--log-level=error", "--file-log-level=error", "--no-progress"];
  return (...args) => ({ program, args: [...quiet, ...args], env });
}

/** Makes a repository of kopia in a folder. */
export async function createKopia(run: KopiaRun, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await measure(run("repository", "create", "filesystem", "--path", folder));
  // Otherwise its retention would remove snapshots: here the nights are minutes apart.
  await measure(
    run("policy", "set", "--global", "--compression=zstd-fastest", "--keep-latest=1000", "--ignore-file-errors=true"),
  );
  await measure(run("maintenance", "set", "--enable-quick=false", "--enable-full=false"));
}

/**
 * Removes the content of files that earlier restores through the server have left in the cache of this place, up to 5 GB: the next
 * restore would read it and ask the server for nothing. Folders and other metadata stay; their names begin with a letter behind f.
 */
export async function removeKopiaContents(place: string): Promise<void> {
  const cache = path.join(`${place}.cache`, "server-contents");
  for (const name of await readdir(cache))
    if (/^[0-9a-f]/.test(name)) await rm(path.join(cache, name), { recursive: true, force: true });
}

export function kopiaMaintenance(run: KopiaRun): Command {
  return run("maintenance", "run", "--full", "--safety=none");
}

/** A repository of kopia whose objects are in `folder`. */
export function kopiaRepository(run: KopiaRun, folder: string, upkeep: readonly Command[]): Repository {
  let newest = "";
  return {
    backup: (tree) => run("snapshot", "create", "--json", tree),
    backedUp: async (_tree, output) => {
      newest = (JSON.parse(output) as { rootEntry: { obj: string } }).rootEntry.obj;
    },
    restore: (_tree, target) => run("snapshot", "restore", newest, target),
    restoreFile: (_tree, file, target) => run("snapshot", "restore", `${newest}/${file}`, path.join(target, "file")),
    upkeep: () => upkeep,
    verify: () => run("snapshot", "verify", "--verify-files-percent=100"),
    stored: () => folderSize(folder),
    newBytes: async () => null,
  };
}

function rustic({ program, version }: Peer): System {
  return {
    name: "rustic",
    version,
    settings: "defaults (restic's format), warm cache; upkeep is prune at once",
    create: async (folder) => {
      const env = { RUSTIC_PASSWORD: password, RUSTIC_CACHE_DIR: `${folder}.cache`, RUSTIC_NO_PROGRESS: "true" };
      const run = (...args: readonly string[]): Command => ({ program, args: ["-r", folder, ...args], env });
      await measure(run("init"));
      return {
        backup: (tree) => run("backup", "--host", "bench", tree),
        backedUp: async () => {},
        restore: (tree, target) => run("restore", `latest:${tree}`, target),
        restoreFile: (tree, file, target) =>
          run("restore", `latest:${path.join(tree, file)}`, path.join(target, "file")),
        upkeep: () => [run("prune", "--instant-delete")],
        verify: () => run("check", "--read-data"),
        stored: () => folderSize(folder),
        newBytes: async () => null,
      };
    },
  };
}
