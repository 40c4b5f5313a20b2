/** The root key: in the database and in the object store, wrapped by the master key. */

import type { Config } from "./config.ts";
import type { Clock, Random } from "./kernel/clock.ts";
import type { DataFolder } from "./kernel/data-folder.ts";
import type { Pools } from "./kernel/database/pool.ts";
import type { Log } from "./kernel/log.ts";
import { masterKeyFromFile } from "./kernel/secrets.ts";
import {
  cleanCopies,
  currentMasterKey,
  localMasterKey,
  openRootKey,
  type RootKeyCopy,
  rootKeyCopy,
  settleMasterKeyFile,
} from "./keys/index.ts";
import type { Storage } from "./open-storage.ts";

interface Sources {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly pools: Pools;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface OpenedRootKey {
  readonly rootKey: Buffer;
  readonly copy: RootKeyCopy;
  /** Of a service that starts for the first time: what its operator has to know about the master key. */
  readonly warning: string | null;
}

export async function openServiceKeys(sources: Sources): Promise<OpenedRootKey> {
  const { config, folder, pools, storage, clock, random, log } = sources;
  const file = folder.path("master.key");
  if (config.masterKey === null) await settleMasterKeyFile(pools.owner, file, random);
  const openStore = () => storage.open();
  const first = localMasterKey(config.masterKey ?? (await masterKeyFromFile(file, random)), random);
  const next = config.newMasterKey === null ? [] : [localMasterKey(config.newMasterKey, random)];
  const masterKey = await currentMasterKey({ owner: pools.owner, openStore }, [first, ...next]);
  let warning: string | null = null;
  const onMade = () => {
    log.warn("root_key_made", { setting: "EMANET_MASTER_KEY" });
    warning = warningOf(config.masterKey === null ? file : "EMANET_MASTER_KEY");
  };
  const rootKey = await openRootKey({ owner: pools.owner, clock, random, openStore, onMade }, masterKey);
  return { rootKey, copy: rootKeyCopy(masterKey, rootKey, cleanCopies(pools.owner, masterKey)), warning };
}

function warningOf(place: string): string {
  return (
    `warning: the master key is in ${place}. Every backup is encrypted under it. If it is lost, no backup can ever be read ` +
    "again, by anyone. Keep a copy of it in another place than the data."
  );
}
