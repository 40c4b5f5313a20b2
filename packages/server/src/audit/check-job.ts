/** The nightly self-check of all chains. Staff are mailed about each bad one, every night until it is good again. */

import type { Random } from "../kernel/clock.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { saveCheck } from "./check-store.ts";
import { accessOfChain, accountOfChain } from "./checkpoints.ts";
import { type AuditPorts, systemContext } from "./jobs.ts";
import { listChains } from "./record-store.ts";
import { checkChain, type Fault } from "./self-check.ts";

interface CheckPorts extends AuditPorts {
  readonly random: Random;
  readonly staffEmail: string;
}

const hourMs = 60 * 60_000;

/** Some hundred million records; a run that takes longer begins again the next night. */
const checkTimeoutMs = 12 * hourMs;

/** Chains that are read at once. */
const chainsPerRead = 200;

export const checkChains = task<Readonly<Record<string, never>>, CheckPorts>("audit.check_chains", {
  parse: noPayload,
  retry: retryAfter(),
  timeoutMs: checkTimeoutMs,
  priority: "low",
  async run(_payload, { ports, signal, log }) {
    const { transactions, services } = ports;
    const context = systemContext(signal);
    const store = await services.audit.openStore();
    let bad = 0;
    for (let after = ""; ; ) {
      const chains = await transactions.read(context, { kind: "system" }, (tx) => listChains(tx, after, chainsPerRead));
      for (const chain of chains) {
        const access = accessOfChain(chain);
        const read = <T>(work: Parameters<typeof transactions.read<T>>[2]) => transactions.read(context, access, work);
        const { records, fault } = await checkChain({ read, store, receipts: services.receipts, signal }, chain);
        await transactions.run(context, access, (tx) =>
          saveCheck(tx, {
            ...{ chain, account_id: accountOfChain(chain), records, checked_at: tx.now },
            ...{ bad_seq: fault?.seq ?? null, finding: fault?.finding ?? null },
          }),
        );
        if (fault === null) continue;
        bad += 1;
        log.error("audit_chain_bad", { target_id: chain, count: fault.seq });
        await report(ports, context, chain, fault);
      }
      const last = chains.at(-1);
      if (last === undefined) break;
      after = last;
    }
    services.audit.counts.checked(bad);
  },
});

/** In the platform's chain, because the account's own may not be writable. */
async function report(
  { transactions, random, staffEmail }: CheckPorts,
  context: ReturnType<typeof systemContext>,
  chain: string,
  { seq, finding }: Fault,
): Promise<void> {
  await transactions.run(context, { kind: "platform" }, async (tx) => {
    // A bad platform chain is reported by mail alone: a record would be one more behind the bad one.
    if (chain !== "platform") {
      const targets = [{ type: "audit_chain", id: chain }];
      tx.audit({ action: "audit.check_failed", targets, outcome: "failure", metadata: { seq, finding } });
    }
    const values = { chain, seq: String(seq), finding };
    // Staff read Turkish, as in the other mails to them.
    const mail = {
      id: random.uuid(),
      to: staffEmail,
      language: "tr",
      template: "audit_check_failed_staff",
      values,
    } as const;
    await tx.job({ task: sendMessage, payload: mailMessage(mail) });
  });
}
