/**
 * The root key and the master key that wraps it.
 *
 * A *wrap* is AES-256-GCM under a key derived from the master key: `nonce ‖ tag ‖ ciphertext`. Each wrap has the name of
 * its master key, which reveals nothing about the key. So a wrong master key is refused with a clear message.
 *
 * Replacing a master key in a file has three steps, and a crash can follow each: the new key is written next to the old
 * (`master.key.next`), the root key is wrapped again, the new file replaces the old one. A start reads the name in the
 * database and keeps the matching file ({@link settleMasterKeyFile}).
 */

import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { ObjectStore } from "@emanet/engine/object-store";
import type { Pool } from "pg";
import type { Clock, Random } from "../kernel/clock.ts";
import { syncFolder } from "../kernel/durable-file.ts";
import { StartError } from "../kernel/start-error.ts";
import { deleteOtherCopies, hasAnyCopy, readRootKeyCopy, writeRootKeyCopy } from "./root-key-copy.ts";
import { insertRootKey, type RootKeyRow, readRootKey, replaceRootKey, whileUnchanged } from "./root-key-store.ts";

/** AES-256, and the length of the root key itself. */
const keyBytes = 32;
/** The nonce length of GCM. */
const nonceBytes = 12;
/** The full tag length of GCM. */
const tagBytes = 16;

/** Wraps and unwraps the root key. A file or a cloud key service can implement it. */
export interface MasterKey {
  /** Identifies the master key; not secret. */
  readonly name: string;
  wrap(plain: Uint8Array): Promise<Buffer>;
  /** Throws when another key wrapped it or when it is damaged. */
  unwrap(wrapped: Uint8Array): Promise<Buffer>;
}

/** A master key in the memory of this process. */
export function localMasterKey(key: Uint8Array, random: Random): MasterKey {
  const derive = (label: string) => Buffer.from(hkdfSync("sha256", key, "", `emanet/${label}/1`, keyBytes));
  const wrappingKey = derive("root-key-wrap");
  return {
    name: derive("master-key-name").subarray(0, 12).toString("base64url"),
    async wrap(plain) {
      const nonce = random.bytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", wrappingKey, nonce);
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    async unwrap(wrapped) {
      const nonce = wrapped.subarray(0, nonceBytes);
      const tag = wrapped.subarray(nonceBytes, nonceBytes + tagBytes);
      const decipher = createDecipheriv("aes-256-gcm", wrappingKey, nonce, { authTagLength: tagBytes }).setAuthTag(tag);
      return Buffer.concat([decipher.update(wrapped.subarray(nonceBytes + tagBytes)), decipher.final()]);
    },
  };
}

export interface RootKeySources {
  /** The connection of the schema's owner: the application role has no right on this table. */
  readonly owner: Pool;
  readonly clock: Clock;
  readonly random: Random;
  /** The object store, which has a copy of the root key. */
  readonly openStore: () => Promise<ObjectStore>;
  /** Called when there was no root key yet, in the database or in the store. */
  readonly onMade?: () => void;
}

/**
 * The root key of this database. The first process creates it. A new database on a store that has a copy gets the root key
 * of that store: with another one no vault there could be opened.
 */
export async function openRootKey(sources: RootKeySources, masterKey: MasterKey): Promise<Buffer> {
  const { owner, clock } = sources;
  const known = await readRootKey(owner);
  if (known !== undefined) return unwrap(known, masterKey);
  const wrapped = await masterKey.wrap(await firstRootKey(sources, masterKey));
  // Another process may have been faster; then its key is used.
  await insertRootKey(owner, { wrapped, wrapped_by: masterKey.name }, clock.now());
  const kept = await readRootKey(owner);
  if (kept === undefined) throw new Error("the root key vanished");
  return unwrap(kept, masterKey);
}

async function firstRootKey({ openStore, random, onMade }: RootKeySources, masterKey: MasterKey): Promise<Buffer> {
  const store = await openStore();
  // Listed first: a copy that another process writes in between has this master key and is then read.
  const isOfService = await hasAnyCopy(store);
  const copy = await readRootKeyCopy(store, masterKey);
  if (copy !== null) return copy;
  if (isOfService) {
    throw new StartError(
      "master_key_wrong",
      "The store of EMANET_STORAGE was used with another master key. Set EMANET_MASTER_KEY (or restore <data>/master.key) to that key, or use an empty store.",
    );
  }
  onMade?.();
  return random.bytes(keyBytes);
}

/**
 * Of these master keys the one that has wrapped the root key, in the database or, if that has none, in the store; else the first.
 * While a master key is replaced, processes start with the old and the new one and need not know how far it is.
 */
export async function currentMasterKey(
  { owner, openStore }: Pick<RootKeySources, "owner" | "openStore">,
  keys: readonly [MasterKey, ...MasterKey[]],
): Promise<MasterKey> {
  const [first, ...others] = keys;
  if (others.length === 0) return first;
  const known = await readRootKey(owner);
  if (known !== undefined) return keys.find(({ name }) => name === known.wrapped_by) ?? first;
  const store = await openStore();
  for (const key of keys) if ((await readRootKeyCopy(store, key)) !== null) return key;
  return first;
}

/**
 * Wraps the root key with another master key, in the store first: at every moment one of the two keys opens it in both
 * places. Running processes keep working: they have the root key in memory. It can be repeated, also after it was done: a run
 * that was killed is ended by the next one.
 */
export async function rewrapRootKey(sources: RootKeySources, from: MasterKey, to: MasterKey): Promise<void> {
  const isDone = await whileUnchanged(sources.owner, async () => {
    const current = await currentMasterKey(sources, [from, to]);
    const rootKey = await openRootKey(sources, current);
    const store = await sources.openStore();
    await writeRootKeyCopy(store, to, rootKey);
    const wrapped = { wrapped: await to.wrap(rootKey), wrapped_by: to.name };
    if (!(await replaceRootKey(sources.owner, wrapped, current.name, sources.clock.now()))) throw wrongMasterKey();
    await deleteOtherCopies(store, to);
    return true;
  });
  if (isDone === null)
    throw new StartError(
      "setting_unusable",
      "Another process changes the master key at this moment. Run it again later.",
    );
}

/** Deletes copies only while this master key is the one of the database, and nobody changes it. */
export function cleanCopies(owner: Pool, masterKey: MasterKey): (work: () => Promise<void>) => Promise<unknown> {
  return (work) =>
    whileUnchanged(owner, async () => {
      if ((await readRootKey(owner))?.wrapped_by === masterKey.name) await work();
    });
}

/** The file of the new master key until it has wrapped the root key. */
export function pendingMasterKeyFile(file: string): string {
  return `${file}.next`;
}

/** Completes a key change that a crash interrupted: keeps the file whose key wrapped the root key. */
export async function settleMasterKeyFile(owner: Pool, file: string, random: Random): Promise<void> {
  const pending = pendingMasterKeyFile(file);
  const text = await readFile(pending, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return;
  const { name } = localMasterKey(Buffer.from(text.trim(), "base64"), random);
  if ((await readRootKey(owner))?.wrapped_by === name) await rename(pending, file);
  else await rm(pending);
  await syncFolder(path.dirname(file));
}

async function unwrap({ wrapped, wrapped_by: name }: RootKeyRow, masterKey: MasterKey): Promise<Buffer> {
  if (name !== masterKey.name) throw wrongMasterKey();
  const rootKey = await masterKey.unwrap(wrapped);
  if (rootKey.length !== keyBytes) throw new Error("the root key has the wrong length");
  return rootKey;
}

function wrongMasterKey(): StartError {
  return new StartError(
    "master_key_wrong",
    "This database was sealed with another master key. Set EMANET_MASTER_KEY (or restore <data>/master.key) to that key.",
  );
}
