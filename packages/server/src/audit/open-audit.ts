/** What the audit trail keeps open: the object store of checkpoints, and the time-stamp authority where there is one. */

import type { ObjectStore } from "@emanet/engine/object-store";
import type { Transactions } from "../kernel/tx.ts";
import { checkpointAct } from "./jobs.ts";
import type { TimeStamps } from "./time-stamps.ts";

export interface Audit {
  readonly openStore: () => Promise<ObjectStore>;
  readonly timeStamps: TimeStamps | null;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly audit: Audit;
  }
}

interface Sources {
  readonly transactions: Transactions;
  readonly storage: { open(): Promise<ObjectStore> };
}

export function openAudit({ transactions, storage }: Sources): Audit {
  transactions.checkpointBy(checkpointAct);
  return { openStore: () => storage.open(), timeStamps: null };
}
