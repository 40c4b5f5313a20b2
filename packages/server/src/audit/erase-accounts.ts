/**
 * Erases the people of a closed account, once its last vault was erased (docs/decisions/0618). Members other than owners cannot sign in any more
 * and go at once. Owners can read the proofs for 30 days, then they go too, with everything that says whose account it was. A person belongs to one
 * account: who has the same address in another one is another row, which stays.
 */

import { erasePerson, updatePerson } from "../accounts/index.ts";
import { eraseFactors } from "../identity/index.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Tx } from "../kernel/tx.ts";
import {
  accountsToErase,
  type ErasedAccount,
  endPerson,
  eraseAccountRows,
  eraseApplication,
  peopleToErase,
} from "./erased-account-store.ts";
import { erasedName } from "./identities.ts";
import { eraseIdentity } from "./identity-store.ts";
import { type AuditPorts, systemContext } from "./jobs.ts";

const dayMs = 86_400_000;
/** Long enough to fetch the proofs, which were mailed too. The law's own time for a request to erase is 30 days. */
export const proofsReadableMs = 30 * dayMs;
/** Of one run; an account has some ten people. The next run takes the others. */
const accountsPerRun = 100;
/** So many accounts of large offices. */
const timeoutMs = 10 * 60_000;

export const eraseAccounts = task<Readonly<Record<string, never>>, AuditPorts>("audit.erase_accounts", {
  parse: noPayload,
  retry: retryAfter(),
  timeoutMs,
  async run(_payload, { ports, signal }) {
    const { transactions } = ports;
    const context = systemContext(signal);
    const { found, now } = await transactions.read(context, { kind: "system" }, async (tx) => ({
      found: await accountsToErase(tx, accountsPerRun),
      now: tx.now,
    }));
    for (const account of found) {
      signal.throwIfAborted();
      const isOver = account.erased_at.getTime() + proofsReadableMs <= now.getTime();
      const { application_id: applicationId } = account;
      if (isOver && applicationId !== null)
        await transactions.run(context, { kind: "system" }, (tx) => eraseApplication(tx, applicationId));
      await transactions.run(context, { kind: "account", accountId: account.id }, (tx) => erase(tx, account, isOver));
    }
  },
});

async function erase(tx: Tx, { id: accountId }: ErasedAccount, isOver: boolean): Promise<void> {
  for (const personId of await peopleToErase(tx, accountId, isOver ? "with" : "without")) {
    await updatePerson(tx, accountId, personId, { state: "removed" });
    await eraseIdentity(tx, personId, accountId);
    await erasePerson(tx, accountId, personId, erasedName);
    await eraseFactors(tx, personId);
    await endPerson(tx, personId);
    tx.audit({ action: "member.erased", targets: [{ type: "person", id: personId }] });
  }
  if (!isOver) return;
  await eraseAccountRows(tx, accountId);
  tx.audit({ action: "account.erased", targets: [{ type: "account", id: accountId }] });
}
