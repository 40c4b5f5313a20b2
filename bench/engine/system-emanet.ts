/** The engine of this repository, through its command. */

import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { allFrameRows, listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import type { Command } from "./measure.ts";
import { folderSize, measure } from "./measure.ts";
import type { Repository, System } from "./system.ts";

const sources = path.resolve(import.meta.dirname, "../../packages/engine-cli/src/main.ts");

/** `main` is the command: its sources, or a bundle of them. */
export function emanet(version: string, main = sources): System {
  const engine: Engine = (...args) => ({
    program: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", main, ...args, "--json"],
  });
  return {
    name: "emanet",
    version,
    settings: `${main === sources ? "" : "bundled, "}defaults; upkeep is repack, then prune; stored counts the object store and the index`,
    create: async (folder) => {
      await measure(engine("init", "--repo", folder));
      return repository(engine, folder);
    },
  };
}

type Engine = (...args: readonly string[]) => Command;

function repository(engine: Engine, folder: string): Repository {
  const repo = ["--repo", folder];
  // Root can read locked files. For other users a locked file is a warning, as in the other programs.
  const alsoFine = [3];
  return {
    backup: (tree) => ({ ...engine("backup", tree, "--source", "ofis", ...repo), alsoFine }),
    backedUp: async () => {},
    restore: (_tree, target) => engine("restore", "latest", "--target", target, ...repo),
    restoreFile: (_tree, file, target) => engine("restore", "latest", "--path", file, "--target", target, ...repo),
    upkeep: () => [engine("repack", ...repo), engine("prune", ...repo)],
    verify: () => engine("verify", "--full", ...repo),
    stored: () => {
      const objects = folderSize(path.join(folder, "objects"));
      const catalog = ["catalog.sqlite", "catalog.sqlite-wal"]
        .map((name) => path.join(folder, name))
        .filter((file) => existsSync(file));
      return { bytes: catalog.reduce((sum, file) => sum + statSync(file).size, objects.bytes), files: objects.files };
    },
    newBytes: () => newBytes(path.join(folder, "catalog.sqlite")),
  };
}

/** Lengths of all blocks in the frames of the newest snapshot's session. */
async function newBytes(file: string): Promise<number> {
  const catalog = openSqliteCatalog(file, { now: () => Date.now(), random: (length) => Buffer.alloc(length) });
  try {
    const newest = (await listSnapshots(catalog)).at(-1);
    let bytes = 0;
    for await (const row of allFrameRows(catalog)) {
      if (row.kind !== "data" || sessionOfFrame(row.frame) !== newest?.session) continue;
      for (const length of decodeBlockList(row.blockList).lengths) bytes += length;
    }
    return bytes;
  } finally {
    await catalog.close();
  }
}
