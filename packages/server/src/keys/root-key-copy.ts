/**
 * A copy of the root key in the object store, wrapped by the master key like the one in the database. The keys of vaults are
 * wrapped by keys that derive from the root key, so the store and the master key together open every vault, also when the
 * database is lost (decision 0502).
 *
 *   service/root-key/<name of the master key, hex>     magic "EMANETR1" · wrapped root key
 */

import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import { StartError } from "../kernel/start-error.ts";

interface MasterKey {
  readonly name: string;
  wrap(plain: Uint8Array): Promise<Buffer>;
  unwrap(wrapped: Uint8Array): Promise<Buffer>;
}

const prefix = "service/root-key/";
const magic = Buffer.from("EMANETR1");

/** The root key of the service that this store belongs to; null when the store has no copy under this master key. */
export async function readRootKeyCopy(store: ObjectStore, masterKey: MasterKey): Promise<Buffer | null> {
  const object = await store.get(nameOf(masterKey)).catch((error: unknown) => {
    if (error instanceof ObjectStoreError && error.code === "not_found") return null;
    throw error;
  });
  if (object === null) return null;
  if (!magic.equals(object.subarray(0, magic.length))) throw unreadable();
  return masterKey.unwrap(object.subarray(magic.length)).catch((cause: unknown) => {
    throw unreadable(cause);
  });
}

/** Writes the copy under this master key. Another process may write its own at the same time: both open. */
export async function writeRootKeyCopy(store: ObjectStore, masterKey: MasterKey, rootKey: Uint8Array): Promise<void> {
  await store.put(nameOf(masterKey), Buffer.concat([magic, await masterKey.wrap(rootKey)]));
}

/** Deletes copies under other master keys: a master key that was replaced opens nothing any more. */
export async function deleteOtherCopies(store: ObjectStore, masterKey: MasterKey): Promise<void> {
  for await (const { name } of store.list(prefix)) if (name !== nameOf(masterKey)) await store.delete(name);
}

/** Whether the store has a copy under any master key, so that it belongs to a service. */
export async function hasAnyCopy(store: ObjectStore): Promise<boolean> {
  for await (const _ of store.list(prefix)) return true;
  return false;
}

/** The copy of this service's root key in a store. */
export interface RootKeyCopy {
  /** Whether the store has it. Throws a StartError when the store belongs to another service. */
  isIn(store: ObjectStore): Promise<boolean>;
  writeTo(store: ObjectStore): Promise<void>;
}

/** `clean` deletes copies under other master keys, unless a new master key is being set at this moment. */
export function rootKeyCopy(
  masterKey: MasterKey,
  rootKey: Buffer,
  clean: (work: () => Promise<void>) => Promise<unknown> = (work) => work(),
): RootKeyCopy {
  return {
    async isIn(store) {
      const copy = await readRootKeyCopy(store, masterKey);
      if (copy === null) return false;
      if (!copy.equals(rootKey)) {
        throw new StartError(
          "storage_of_another_service",
          "The store of EMANET_STORAGE belongs to another database: its root key is another one. Set EMANET_STORAGE to the store of this database.",
        );
      }
      await clean(() => deleteOtherCopies(store, masterKey));
      return true;
    },
    writeTo: (store) => writeRootKeyCopy(store, masterKey, rootKey),
  };
}

function nameOf({ name }: MasterKey): string {
  return prefix + Buffer.from(name, "base64url").toString("hex");
}

function unreadable(cause?: unknown): StartError {
  return new StartError(
    "storage_unusable",
    `The object ${prefix}… of EMANET_STORAGE, the copy of the root key, is damaged. Restore it from a backup of the store; ` +
      "while the database is whole it can also be deleted, and the next start writes it again.",
    { cause },
  );
}
