/** Background work of the audit trail: checkpoints, and the removal of exports that have expired. */

import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { chainsToCheckpoint } from "./checkpoint-store.ts";
import { type JobTxContext, makeCheckpoint } from "./checkpoints.ts";
import { deleteExpiredExports } from "./export-store.ts";

export interface AuditPorts extends ServicePorts {
  readonly transactions: Transactions;
  readonly publicUrl: () => string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A store that is away for a day delays a checkpoint in it. The hourly run finds what is left. */
const retries = retryAfter(minuteMs, 10 * minuteMs, hourMs, 6 * hourMs);

function parseChain(payload: unknown): { readonly chain: string } {
  const { chain } = payload as { readonly chain?: unknown };
  if (typeof chain !== "string" || !/^(?:platform|[0-9a-f-]{36})$/.test(chain)) throw new TypeError("no chain");
  return { chain };
}

export function systemContext(signal: AbortSignal): JobTxContext {
  return { actor: { kind: "system" }, context: {}, signal };
}

function sourcesOf({ services, transactions, publicUrl }: AuditPorts) {
  const { receipts, audit } = services;
  return { receipts, transactions, publicUrl: publicUrl(), openStore: audit.openStore, timeStamps: audit.timeStamps };
}

/** A checkpoint at once, after an act of staff or one with a fresh second factor. */
export const checkpointAct = task<{ readonly chain: string }, AuditPorts>("audit.checkpoint_act", {
  parse: parseChain,
  retry: retries,
  priority: "high",
  run: ({ chain }, { ports, signal }) => makeCheckpoint(sourcesOf(ports), systemContext(signal), chain, "act"),
});

/** Puts the checkpoints of an export into the object store. */
export const storeCheckpoints = task<{ readonly chain: string }, AuditPorts>("audit.store_checkpoints", {
  parse: parseChain,
  retry: retries,
  run: ({ chain }, { ports, signal }) => makeCheckpoint(sourcesOf(ports), systemContext(signal), chain, "export"),
});

/** Chains that are read at once. */
const chainsPerRead = 200;

/** A signature and a put take some ten milliseconds, so an hour is enough for many thousand accounts. */
const checkpointTimeoutMs = hourMs;

/** A checkpoint of every chain that has changed. One that fails does not stop the others. */
export const checkpointChanges = task<Readonly<Record<string, never>>, AuditPorts>("audit.checkpoint_changes", {
  parse: noPayload,
  retry: retryAfter(),
  timeoutMs: checkpointTimeoutMs,
  priority: "low",
  async run(_payload, { ports, signal }) {
    const context = systemContext(signal);
    const sources = sourcesOf(ports);
    let firstError: unknown = null;
    for (let after = ""; ; ) {
      const chains = await ports.transactions.read(context, { kind: "system" }, (tx) =>
        chainsToCheckpoint(tx, after, chainsPerRead),
      );
      for (const chain of chains) {
        signal.throwIfAborted();
        await makeCheckpoint(sources, context, chain, "hourly").catch((error: unknown) => {
          firstError ??= error;
        });
      }
      const last = chains.at(-1);
      if (last === undefined) break;
      after = last;
    }
    if (firstError !== null) throw firstError;
  },
});

export const removeExpiredExports = task<Readonly<Record<string, never>>, AuditPorts>("audit.remove_exports", {
  parse: noPayload,
  retry: retryAfter(),
  run: (_payload, { ports, signal }) =>
    ports.transactions.run(systemContext(signal), { kind: "system" }, deleteExpiredExports),
});
