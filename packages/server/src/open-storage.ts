/** The object store of the service (`EMANET_STORAGE`), opened when it is first needed and closed with the service. */

import { mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type ObjectStore, ObjectStoreError } from "@emanet/engine/object-store";
import { type OpenedStore, openStore } from "@emanet/storage/open";
import type { Config } from "./config.ts";
import { type Random, systemClock } from "./kernel/clock.ts";
import type { DataFolder } from "./kernel/data-folder.ts";
import { StartError } from "./kernel/start-error.ts";

export interface Storage {
  /** The same store every time. Rejects with a StartError that names the setting. */
  open(): Promise<ObjectStore>;
  /** Removes what killed processes left of objects that they were writing, once it is old. */
  removeLeftovers(): Promise<void>;
  /** By the store's own clock, in milliseconds since 1970; null: it has none. */
  time(): Promise<number | null>;
  close(): Promise<void>;
}

interface Sources {
  readonly random: Random;
}

const ownerOnlyFolder = 0o700;

export function storageOf(config: Config, folder: DataFolder, sources: Sources): Storage {
  let opened: Promise<OpenedStore> | null = null;
  const open = () => {
    opened ??= openConfigured(config, folder, sources);
    return opened;
  };
  return {
    open: async () => (await open()).store,
    removeLeftovers: async () => (await open()).removeLeftovers(),
    time: async () => (await open()).time(),
    async close() {
      await opened?.then(
        (one) => one.close(),
        () => undefined,
      );
    },
  };
}

async function openConfigured(config: Config, folder: DataFolder, { random }: Sources): Promise<OpenedStore> {
  const spoolFolder = config.spoolDir ?? folder.path("spool");
  try {
    await mkdir(spoolFolder, { recursive: true, mode: ownerOnlyFolder });
    return await openStore(config.storage ?? `file:${folder.path("objects")}`, {
      spoolFolder,
      // Ages of files and of S3's uploads are by real time. A test clock that is weeks ahead would make those that are being
      // written leftovers.
      now: () => systemClock.now().getTime(),
      random: () => random.bytes(4).readUInt32BE() / 2 ** 32,
      randomBytes: (count) => random.bytes(count),
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    });
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    throw new StartError("storage_unusable", `EMANET_STORAGE cannot be used: ${error.message}.`, { cause: error });
  }
}
