/** What recovery keeps open: the object store of records. */

import type { ObjectStore } from "@emanet/engine/object-store";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions } from "../kernel/tx.ts";
import { assertStoreIsNotNewer } from "./beat.ts";
import { recordChanges } from "./write-records.ts";

export interface Recovery {
  readonly openStore: () => Promise<ObjectStore>;
  /** Writes what the records of an account (null: none) and of the platform lack, now. */
  readonly recordChanges: (accountId: string | null) => Promise<void>;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly recovery: Recovery;
  }
}

interface Sources {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly storage: { open(): Promise<ObjectStore> };
}

/** Rejects with a StartError if the store has seen a newer database than this one. */
export async function openRecovery(sources: Sources): Promise<Recovery> {
  const openStore = () => sources.storage.open();
  await assertStoreIsNotNewer(sources, await openStore());
  return { openStore, recordChanges: recordChanges({ ...sources, openStore }) };
}
