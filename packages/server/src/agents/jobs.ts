/** Records in the chains of vaults that an agent may not write any more. */

import { revokeWriter, signerId } from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { retryAfter, task } from "../kernel/jobs/task.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { noteRevocation, unrecordedRevocations } from "./store.ts";

interface Payload {
  readonly accountId: string;
  readonly agentId: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A store may be away for days. Operations refuse the agent all the time; the record is for a rebuild of the catalog. */
const retries = retryAfter(
  ...[5_000, minuteMs, 10 * minuteMs, hourMs, 6 * hourMs],
  ...Array.from({ length: 14 }, () => 24 * hourMs),
);

export const recordRevocation = task<Payload, ServicePorts & { readonly transactions: Transactions }>(
  "agents.record_revocation",
  {
    parse: parsePayload,
    retry: retries,
    run: async ({ accountId, agentId }, { ports, signal }) => {
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      const run = <T>(work: (tx: Tx) => Promise<T>) =>
        ports.transactions.run(context, { kind: "account", accountId }, work);
      for (const row of await run((tx) => unrecordedRevocations(tx, accountId, agentId))) {
        const vault = await ports.services.vaults.open(accountId, row.vault_id);
        const writerId = signerId(row.public_key);
        // A run that ended after the record and before its note has written it already.
        const isRecorded = (await vault.catalog.revokedFrom(writerId.toString("hex"))) !== null;
        if (!isRecorded) await revokeWriter(vault, writerId, `agent:${agentId}`);
        await run((tx) => noteRevocation(tx, agentId, row.vault_id));
      }
    },
  },
);

function parsePayload(payload: unknown): Payload {
  if (typeof payload === "object" && payload !== null && "accountId" in payload && "agentId" in payload) {
    const { accountId, agentId } = payload;
    if (typeof accountId === "string" && typeof agentId === "string") return { accountId, agentId };
  }
  throw new TypeError("not a payload of agents.record_revocation");
}

export const agentTasks = [recordRevocation];
