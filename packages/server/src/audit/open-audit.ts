/** What the audit trail keeps open: the object store of checkpoints, the time-stamp authority where there is one, and its metrics. */

import type { ObjectStore } from "@emanet/engine/object-store";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Config } from "../config.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Transactions } from "../kernel/tx.ts";
import { checkpointAct } from "./jobs.ts";
import { openRefusals, type Refusals } from "./refusals.ts";
import { createTimeStamps, type TimeStamps } from "./time-stamps.ts";

export interface AuditCounts {
  /** A self-check of all chains has ended, with so many bad ones. */
  checked(badChains: number): void;
}

export interface Audit {
  readonly openStore: () => Promise<ObjectStore>;
  readonly timeStamps: TimeStamps | null;
  readonly counts: AuditCounts;
  readonly refusals: Refusals;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly audit: Audit;
  }
}

interface Sources {
  readonly config: Pick<Config, "auditTsaUrl">;
  readonly transactions: Transactions;
  readonly storage: { open(): Promise<ObjectStore> };
  readonly metrics: { readonly registry: Registry };
  readonly clock: Clock;
  readonly log: Log;
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

export function openAudit(sources: Sources): Audit {
  const { config, transactions, storage, metrics } = sources;
  transactions.checkpointBy(checkpointAct);
  const refusals = openRefusals(sources);
  sources.onStop(() => refusals.close());
  const url = config.auditTsaUrl;
  return {
    openStore: () => storage.open(),
    timeStamps: url === null ? null : createTimeStamps(url),
    counts: auditCounts(metrics.registry),
    refusals,
  };
}

function auditCounts(registry: Registry): AuditCounts {
  const registers = [registry];
  const runs = new Counter({ name: "emanet_audit_checks_total", help: "Self-checks of all audit chains", registers });
  const bad = new Gauge({
    ...{ name: "emanet_audit_bad_chains", help: "Audit chains that the last self-check of this process found bad" },
    registers,
  });
  return {
    checked(badChains) {
      runs.inc();
      bad.set(badChains);
    },
  };
}
