/** Opens the store that a setting names. A new backend is a file, a three-line conformance test, and a line here. */

import { tmpdir } from "node:os";
import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import { openFileStore } from "./file.ts";
import type { SyncPolicy } from "./file-folders.ts";
import { MemoryStore } from "./memory.ts";
import { RetryingStore, repeatCall } from "./retrying.ts";
import type { S3Credentials } from "./s3.ts";
import { parseS3Url } from "./s3-url.ts";
import { removeSpoolFiles, SpoolingStore } from "./spooling.ts";

/** What stores get from the caller: time, random numbers, and settings that are not part of an address. */
export interface StoreContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 to below 1, for spreading retries. */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<unknown>;
  readonly s3Credentials?: S3Credentials | undefined;
  /** Default `full`. */
  readonly fileSync?: SyncPolicy | undefined;
  /** Folder for packs that are being sent to S3 (default: the system's folder for temporary files). */
  readonly spoolFolder?: string | undefined;
  /** Whether a folder that is no store yet may become one (default true). */
  readonly create?: boolean | undefined;
}

export interface OpenedStore {
  readonly store: ObjectStore;
  /** Removes what killed processes left of objects that they were writing, once it is old. */
  removeLeftovers(): Promise<void>;
  /**
   * The time by the store's own clock, in milliseconds since 1970: of its server, or of the file system. Null: a
   * store in memory has no clock.
   */
  time(): Promise<number | null>;
  /** Closes connections. The store is not used afterwards. */
  close(): Promise<void>;
}

const nothing = async () => undefined;

/** By the scheme of the address. */
const backends: Readonly<Record<string, (address: string, context: StoreContext) => Promise<OpenedStore>>> = {
  file: openFile,
  s3: openS3,
  memory: async () => ({
    ...{ store: new MemoryStore(), removeLeftovers: nothing, close: nothing },
    time: async () => null,
  }),
};

/**
 * Opens the store that an address names: `file:/var/lib/emanet/objects`, `s3://bucket/prefix?endpoint=…&region=…`
 * or `memory:`.
 */
export async function openStore(address: string, context: StoreContext): Promise<OpenedStore> {
  const scheme = /^([a-z0-9]+):/.exec(address)?.[1] ?? "";
  const open = Object.hasOwn(backends, scheme) ? backends[scheme] : undefined;
  if (open === undefined) {
    throw new ObjectStoreError("bad_name", `an address starts with one of ${Object.keys(backends).join(": ")}:`);
  }
  return open(address, context);
}

async function openFile(address: string, context: StoreContext): Promise<OpenedStore> {
  // `file:///x` and `file:/x` are the same; a relative path is taken as it is, from the working folder.
  const root = address.slice("file:".length).replace(/^\/\/(?=\/)/, "");
  if (root === "" || root.includes("\0")) throw new ObjectStoreError("bad_name", "file: needs a path");
  const { now, randomBytes, fileSync: sync, create } = context;
  const store = await openFileStore({ root, now, randomBytes, sync, create });
  return { store, removeLeftovers: () => store.removeLeftovers(), time: () => store.time(), close: nothing };
}

async function openS3(address: string, context: StoreContext): Promise<OpenedStore> {
  const { now, randomBytes, s3Credentials: credentials, spoolFolder: folder = tmpdir() } = context;
  const location = parseS3Url(address);
  // The client of S3 is large. A store of files does without it.
  const { openS3Store } = await import("./s3.ts");
  // A server that refuses one of the first requests does not end the start of a service.
  const bucket = await repeatCall(context, () => openS3Store({ location, credentials, now }));
  await removeSpoolFiles(folder);
  const store = new SpoolingStore(new RetryingStore(bucket, context), { folder, randomBytes });
  return {
    store,
    removeLeftovers: () => repeatCall(context, () => bucket.removeLeftovers()),
    time: () => repeatCall(context, () => bucket.time()),
    close: () => bucket.close(),
  };
}
