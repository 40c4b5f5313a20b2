/**
 * A vault that is read with a recovery kit and a copy of the bucket, without the service. The kit opens and does not sign, so nothing is written. The
 * catalog is made in a folder for temporary files, which is removed at the end.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EngineContext, openReadableVault, openSqliteCatalog } from "@emanet/engine/vault";
import type { ReadRepository } from "./answer.ts";
import { UsageError } from "./arguments.ts";
import { openCopiedBucket } from "./copied-bucket.ts";

export interface KitRepository extends ReadRepository {
  close(): Promise<void>;
}

/** The file that `recovery_kits.download` answers: the kit and the key that opens it. */
interface KitFile {
  readonly kit: string;
  readonly key: string;
}

export function openWithKit(folder: string, kitFile: string, ctx: EngineContext): KitRepository {
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
