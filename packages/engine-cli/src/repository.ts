/**
 * A local repository: one vault, everything in one folder.
 *
 *   objects/        the object store; with the three files below the command restores everything in it
 *   master.key      32 bytes, hexadecimal, mode 0600: keep a copy elsewhere
 *   writer.key      this machine's signing seed
 *   repository.json the vault's id
 *   catalog.sqlite  the catalog; it can be rebuilt
 *   caches/         one file cache per source; they can be deleted
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  createVault,
  type EngineContext,
  type ObjectStore,
  openSqliteCatalog,
  openVault,
  registerWriter,
  type SqliteCatalog,
  signerFromSeed,
  type Vault,
  type Writer,
  writerFromSeed,
} from "@emanet/engine/vault";
// Not from `@emanet/storage`: that would load the S3 client, 40 MiB of it.
import { openFileStore } from "@emanet/storage/file";
import { UsageError } from "./arguments.ts";

export interface Repository {
  readonly folder: string;
  readonly vault: Vault;
  readonly writer: Writer;
  readonly masterKey: Uint8Array;
  readonly store: ObjectStore;
  readonly catalog: SqliteCatalog;
  readonly ctx: EngineContext;
  /** True if the catalog was missing: it must be rebuilt before any other command runs. */
  readonly catalogIsNew: boolean;
}

/** Creates a repository in a folder that is not a repository yet. The folder is made if it is missing. */
export async function createRepository(folder: string, ctx: EngineContext): Promise<Repository> {
  const description = path.join(folder, "repository.json");
  if (existsSync(description)) throw new UsageError(`${folder} is a repository already`);
  mkdirSync(path.join(folder, "caches"), { recursive: true, mode: 0o700 });
  const vaultId = Buffer.from(ctx.random(16));
  secretFile(path.join(folder, "master.key"), ctx.random(32));
  secretFile(path.join(folder, "writer.key"), ctx.random(32));
  const parts = await openParts(folder, ctx);
  const masterKey = readKey(folder, "master.key");
  const vault = await createVault(parts, masterKey, vaultId);
  const writer = localWriter(folder, vault);
  writeFileSync(description, `${JSON.stringify({ format: 2, vault: vaultId.toString("hex") })}\n`, { mode: 0o600 });
  return { folder, vault, writer, masterKey, ...parts, catalogIsNew: false };
}

/** Opens a repository. */
export async function openRepository(folder: string, ctx: EngineContext): Promise<Repository> {
  const description = path.join(folder, "repository.json");
  if (!existsSync(description)) throw new UsageError(`${folder} is not a repository; create one with init`);
  const read: unknown = JSON.parse(readFileSync(description, "utf8"));
  const vaultId = typeof read === "object" && read !== null && "vault" in read ? String(read.vault) : "";
  const catalogIsNew = !existsSync(path.join(folder, "catalog.sqlite"));
  const parts = await openParts(folder, ctx);
  const masterKey = readKey(folder, "master.key");
  const vault = await openVault(parts, masterKey, Buffer.from(vaultId, "hex"));
  return { folder, vault, writer: localWriter(folder, vault), masterKey, ...parts, catalogIsNew };
}

/** A local repository is its own authority: it registers its writer whenever it is opened. */
function localWriter(folder: string, vault: Vault): Writer {
  const seed = readKey(folder, "writer.key");
  return writerFromSeed(seed, registerWriter(vault, signerFromSeed(seed).publicKey));
}

async function openParts(folder: string, ctx: EngineContext) {
  const store = await openFileStore({ root: path.join(folder, "objects"), now: ctx.now, randomBytes: ctx.random });
  const catalog = openSqliteCatalog(path.join(folder, "catalog.sqlite"), ctx);
  return { ctx, store, catalog };
}

function secretFile(file: string, bytes: Uint8Array): void {
  writeFileSync(file, `${Buffer.from(bytes).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
}

function readKey(folder: string, name: string): Buffer {
  const key = Buffer.from(readFileSync(path.join(folder, name), "utf8").trim(), "hex");
  if (key.length !== 32) throw new UsageError(`${name} is not a key of 32 bytes`);
  return key;
}
