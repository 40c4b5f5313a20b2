/**
 * Closing an account. Steps:
 * 1. An owner orders it. It is refused while a snapshot of any vault is held or locked. It waits 72 hours (`acts.ts`), and any owner cancels it.
 * 2. When its time has come it is judged again, by the rows and by the signed chain of each vault. Then the chain of the default vault has
 *    the act as done, with the end of the 90 days: this record decides. A process that ends here leaves rows that follow with the next run.
 * 3. The account is closed: members read and restore, nothing expires, nobody writes. Open uploads end.
 * 4. After 90 days its vaults are erased, each once nothing in it is held, locked or under a floor (`erasures`).
 */

import { findAccount, listOwnersAnd, updateAccount } from "../accounts/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { endUpload } from "../snapshots/index.ts";
import { findDefaultVault } from "../vaults/index.ts";
import { type ActRow, findAct, waitingAct } from "./act-store.ts";
import { emitAct, fromRow, scheduleAct, type WantedAct } from "./acts.ts";
import { type ChainAct, recordAct } from "./chain.ts";
import { keptOfAccount, openUploadsOfAccount, vaultsOfAccount, vaultsWithKeys } from "./closing-store.ts";
import { deletionCompleted } from "./events.ts";
import { lockPolicies } from "./policy-store.ts";
import type { Steps } from "./steps.ts";

const dayMs = 86_400_000;
/** The contract's time in which a closed account is read and restored from. */
export const readableMs = 90 * dayMs;

/** Orders the closing. One that waits already stays as it is. Returns the act. */
export async function scheduleClosing(
  tx: Tx,
  ctx: Pick<Ctx, "random" | "services">,
  accountId: string,
  memberId: string,
): Promise<ActRow> {
  const [account, vault] = [await findAccount(tx, accountId), await findDefaultVault(tx, accountId)];
  if (account === undefined || vault === undefined || account.state === "closed") throw new Problem("state_conflict");
  const nothing = { sourceId: null, snapshotId: null, taxpayerId: null, policy: null };
  const wanted: WantedAct = { accountId, vaultId: vault.id, kind: "account_closing", ...nothing };
  await lockPolicies(tx, vault.id);
  const waiting = await waitingAct(tx, wanted);
  if (waiting !== undefined) return waiting;
  const kept = await keptOfAccount(tx, accountId, tx.now);
  if (kept.held) throw new Problem("legal_hold");
  if (kept.locked) throw new Problem("retention_locked");
  const act = await findAct(tx, accountId, await scheduleAct(tx, ctx, wanted, memberId));
  if (act === undefined) throw new Error("an act that was just scheduled is gone");
  return act;
}

/** Closes the account. Returns false where a hold or a lock keeps something. What the chain has is decided already. */
export async function carryOutClosing(steps: Steps, tx: Tx, act: ActRow, known: ChainAct): Promise<boolean> {
  const { accountId, vault, now } = steps;
  let { until } = known;
  if (known.done !== true || until === undefined) {
    if (await isAnythingKept(steps, tx)) return false;
    until = now.getTime() + readableMs;
    // The closing names what it closes: no other vault is ever erased by it.
    const vaults = await vaultsOfAccount(tx, accountId);
    await recordAct(vault, act.id, { ...known, done: true, until, vaults }, act.created_by);
  }
  await closeAccount(tx, steps, accountId, new Date(until));
  emitAct(tx, deletionCompleted, fromRow(act));
  return true;
}

async function isAnythingKept(steps: Steps, tx: ReadTx): Promise<boolean> {
  const { held, locked } = await keptOfAccount(tx, steps.accountId, steps.now);
  if (held || locked) return true;
  for (const vaultId of await vaultsWithKeys(tx, steps.accountId)) {
    steps.signal.throwIfAborted();
    const { chain } = await steps.openVault(vaultId);
    for (const [, { retention }] of (await chain.read()).live())
      if (retention.hold || (retention.lockedUntil ?? 0) > steps.now.getTime()) return true;
  }
  return false;
}

/** The rows of a closed account. Can be repeated. */
export async function closeAccount(
  tx: Tx,
  { random }: Pick<Steps, "random">,
  accountId: string,
  eraseAfter: Date,
): Promise<void> {
  const account = await findAccount(tx, accountId);
  if (account === undefined || account.state === "closed") return;
  await updateAccount(tx, accountId, { state: "closed", erase_after: eraseAfter });
  for (const id of await openUploadsOfAccount(tx, accountId))
    await endUpload(tx, id, { state: "canceled", code: "canceled", reason: null });
  const metadata = { erase_after: eraseAfter.toISOString() };
  tx.audit({ action: "account.closed", targets: [{ type: "account", id: accountId }], metadata });
  for (const { role, state, email: to, language } of await listOwnersAnd(tx, accountId, [])) {
    if (role !== "owner" || state !== "active") continue;
    const payload = mailMessage({ id: random.uuid(), to, language, template: "account_closed", values: metadata });
    await tx.job({ task: sendMessage, payload });
  }
}
