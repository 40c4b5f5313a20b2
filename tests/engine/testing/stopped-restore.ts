/**
 * A process whose restore is interrupted: `stopped-restore.ts <folder> <reads>` opens the repository in the folder, starts a
 * restore, and kills itself (SIGKILL) before its read of a pack with the given number. Used by `resume.test.ts`.
 */

import path from "node:path";
import { openSqliteCatalog } from "../../../packages/engine/src/catalog/sqlite/sqlite.ts";
import type { EngineContext } from "../../../packages/engine/src/context.ts";
import type { ObjectStore } from "../../../packages/engine/src/object-store.ts";
import { restoreSnapshot } from "../../../packages/engine/src/restore/folder/restore.ts";
import { LocalReadPort } from "../../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../../packages/engine/src/testing/catalog-content.ts";
import { masterKey, testContext, vaultId } from "../../../packages/engine/src/testing/test-environment.ts";
import { openVault } from "../../../packages/engine/src/vault.ts";
import { RestoreWorkerPool } from "../../../packages/engine/src/workers/restore-worker-pool.ts";
import { openFileStore } from "../../../packages/storage/src/index.ts";

/** A store that counts the reads of packs and calls `before` with the number of each read. */
export function watched(store: ObjectStore, before: (reads: number) => void) {
  const seen = { reads: 0, bytes: 0 };
  const get: ObjectStore["get"] = async (name, options) => {
    if (name.includes("/packs/")) before(++seen.reads);
    const bytes = await store.get(name, options);
    if (name.includes("/packs/")) seen.bytes += bytes.length;
    return bytes;
  };
  const wrapped: ObjectStore = {
    get,
    put: (...call) => store.put(...call),
    stat: (...call) => store.stat(...call),
    list: (...call) => store.list(...call),
    delete: (...call) => store.delete(...call),
  };
  return { store: wrapped, seen };
}

/** The store and the catalog of a folder. */
export async function openParts(folder: string, ctx: EngineContext) {
  const files = await openFileStore({
    root: path.join(folder, "store"),
    sync: "none",
    now: ctx.now,
    randomBytes: ctx.random,
  });
  return { files, catalog: openSqliteCatalog(path.join(folder, "catalog.sqlite"), ctx) };
}

/** The repository of a folder, as both processes open it. */
export async function openRepository(folder: string, before: (reads: number) => void) {
  const ctx = testContext(2);
  const { files, catalog } = await openParts(folder, ctx);
  const { store, seen } = watched(files, before);
  const vault = await openVault({ ctx, store, catalog }, masterKey, vaultId);
  return { vault, seen };
}

if (process.argv[1] === import.meta.filename) {
  const [folder = "", reads = ""] = process.argv.slice(2);
  const { vault } = await openRepository(folder, (count) => {
    if (count === Number(reads)) process.kill(process.pid, "SIGKILL");
  });
  const snapshot = (await listSnapshots(vault.catalog)).at(-1);
  if (snapshot === undefined) throw new Error("no snapshot");
  await restoreSnapshot({
    port: new LocalReadPort(vault),
    snapshot,
    target: path.join(folder, "to"),
    pool: new RestoreWorkerPool(0),
  });
}
