/**
 * Acts that wait. An act is in the chain before it is in the database, and is carried out only if both have it. Every owner is mailed,
 * and any owner cancels it.
 */

import type { Vault } from "@emanet/engine";
import { listOwnersAnd } from "../accounts/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { type ActRow, endAct, insertAct, type NewAct, waitingAct } from "./act-store.ts";
import { isDeletion, readChainRetention, recordAct } from "./chain.ts";
import { type DeletionKind, deletionCanceled, type deletionCompleted, deletionScheduled } from "./events.ts";
import { waitMs } from "./rules.ts";

export type WantedAct = Omit<NewAct, "id" | "dueAt" | "createdBy">;

/** An act about one snapshot. */
export function aboutSnapshot(
  kind: "hold_release" | "acceptance",
  snapshot: { readonly id: string; readonly account_id: string; readonly vault_id: string },
): WantedAct {
  const { id: snapshotId, account_id: accountId, vault_id: vaultId } = snapshot;
  return { accountId, vaultId, kind, snapshotId, sourceId: null, taxpayerId: null, policy: null };
}

/** Schedules an act. A waiting one of the same kind about the same thing is replaced: its time starts again. */
export async function scheduleAct(
  tx: Tx,
  { random, services }: Pick<Ctx, "random" | "services">,
  wanted: WantedAct,
  memberId: string,
): Promise<string> {
  const vault = await services.vaults.open(wanted.accountId, wanted.vaultId);
  const before = await waitingAct(tx, wanted);
  if (before !== undefined) await cancelAct(tx, vault, before, null);
  const act: NewAct = {
    ...wanted,
    id: random.uuid(),
    createdBy: memberId,
    dueAt: new Date(tx.now.getTime() + waitMs),
  };
  const { kind, sourceId: source, snapshotId: snapshot, policy } = act;
  const due = act.dueAt.getTime();
  await recordAct(vault, act.id, { kind, source, snapshot, policy, due, by: memberId }, memberId);
  await insertAct(tx, act);
  tx.audit({ action: "act.scheduled", targets: targetsOf(act), metadata: { kind, due_at: act.dueAt.toISOString() } });
  emitAct(tx, deletionScheduled, act);
  await mailAboutAct(tx, random, act);
  return act.id;
}

/** `by` null: a newer change replaces it. Throws `state_conflict` if the chain has it as done: its rows follow. */
export async function cancelAct(tx: Tx, vault: Vault, act: ActRow, by: string | null): Promise<void> {
  if ((await readChainRetention(vault)).acts.get(act.id)?.done === true) throw new Problem("state_conflict");
  await recordAct(vault, act.id, null, by ?? "replaced");
  await endAct(tx, act.account_id, act.id, { state: "canceled", by });
  tx.audit({ action: "act.canceled", targets: targetsOfRow(act), metadata: { kind: act.kind } });
  emitAct(tx, deletionCanceled, fromRow(act));
}

type EmittedAct = Pick<NewAct, "id" | "kind" | "vaultId" | "sourceId" | "taxpayerId" | "dueAt">;

/** Of deletions and closings only: the other acts change rules, and have no events. */
export function emitAct(
  tx: Tx,
  type: typeof deletionScheduled | typeof deletionCanceled | typeof deletionCompleted,
  { id, kind, vaultId, sourceId, taxpayerId, dueAt }: EmittedAct,
): void {
  if (!isDeletion(kind) && kind !== "account_closing") return;
  const about = { vault_id: vaultId, source_id: sourceId, taxpayer_id: taxpayerId };
  tx.emit(type, { act_id: id, kind: kind as DeletionKind, ...about, due_at: dueAt.toISOString() }, { vaultId });
}

export function fromRow(act: ActRow): EmittedAct & Pick<NewAct, "snapshotId"> {
  return {
    ...{ id: act.id, kind: act.kind, vaultId: act.vault_id, sourceId: act.source_id, dueAt: act.due_at },
    ...{ snapshotId: act.snapshot_id, taxpayerId: act.taxpayer_id },
  };
}

export function targetsOfRow(act: ActRow) {
  return targetsOf(fromRow(act));
}

function targetsOf(act: Pick<NewAct, "id" | "vaultId" | "sourceId" | "snapshotId" | "taxpayerId">) {
  const { id, vaultId, sourceId, snapshotId, taxpayerId } = act;
  return [
    { type: "act", id },
    { type: "vault", id: vaultId },
    ...(sourceId === null ? [] : [{ type: "source", id: sourceId }]),
    ...(snapshotId === null ? [] : [{ type: "snapshot", id: snapshotId }]),
    ...(taxpayerId === null ? [] : [{ type: "taxpayer", id: taxpayerId }]),
  ];
}

export async function mailAboutAct(tx: Tx, random: Ctx["random"], act: NewAct): Promise<void> {
  const people = await listOwnersAnd(tx, act.accountId, [act.createdBy]);
  const by = people.find(({ id }) => id === act.createdBy)?.full_name ?? "";
  const ofAccount = act.kind === "account_closing" ? act.accountId : act.vaultId;
  const target = act.snapshotId ?? act.sourceId ?? act.taxpayerId ?? ofAccount;
  const values = { kind: act.kind, act_id: act.id, target_id: target, by, due_at: act.dueAt.toISOString() } as const;
  for (const { role, state, email: to, language } of people) {
    if (role !== "owner" || state !== "active") continue;
    const payload = mailMessage({ id: random.uuid(), to, language, template: "act_scheduled", values });
    await tx.job({ task: sendMessage, payload });
  }
}
