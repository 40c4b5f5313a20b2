/** Carries out an act whose 72 hours are over. The chain must have the act; its time is judged by the earliest of three clocks. */

import { setRetention } from "@emanet/engine";
import { engineId } from "../snapshots/index.ts";
import { type ActRow, endAct, lockAct } from "./act-store.ts";
import { targetsOfRow } from "./acts.ts";
import {
  type ChainAct,
  policyOf,
  readChainRetention,
  recordAct,
  recordRetentionPolicy,
  recordSuspicion,
} from "./chain.ts";
import { lockPolicies, setPolicy } from "./policy-store.ts";
import { setAccepted, setHold } from "./snapshot-store.ts";
import type { Steps } from "./steps.ts";

const by = "retention.apply";

export async function carryOut(steps: Steps, { id }: ActRow): Promise<void> {
  const { accountId, vault, run, log, now } = steps;
  const known = (await readChainRetention(vault)).acts.get(id);
  await run(async (tx) => {
    await lockPolicies(tx, steps.vaultId);
    const act = await lockAct(tx, accountId, id);
    // An owner has canceled it meanwhile.
    if (act?.state !== "waiting") return;
    const state = isOf(act, known, now) && (await doAct(steps, tx, act, known)) ? "done" : "refused";
    if (state === "refused") log.error("act_refused", { target_id: id });
    await recordAct(vault, id, null, by);
    await endAct(tx, accountId, id, { state, by: null });
    const outcome = state === "done" ? "success" : "failure";
    tx.audit({ action: `act.${state}`, targets: targetsOfRow(act), outcome, metadata: { kind: act.kind } });
  });
}

/** Whether the chain has this act, and its time has come. A row alone may be forged. */
function isOf(act: ActRow, known: ChainAct | undefined, now: Date): known is ChainAct {
  return (
    known !== undefined &&
    known.kind === act.kind &&
    known.source === act.source_id &&
    known.snapshot === act.snapshot_id &&
    known.due <= now.getTime()
  );
}

/** Returns false where it must not be done any more. What it does is the chain's, not the row's. */
async function doAct(
  steps: Steps,
  tx: Parameters<typeof setPolicy>[0],
  act: ActRow,
  known: ChainAct,
): Promise<boolean> {
  const { accountId, vaultId, vault } = steps;
  const { kind, source, snapshot } = known;
  if (kind === "policy_change" && known.policy !== null) {
    const policy = policyOf(known.policy);
    await recordRetentionPolicy(vault, source, policy, act.created_by);
    await setPolicy(tx, { accountId, vaultId, sourceId: source }, policy);
    return true;
  }
  if (kind === "hold_release" && snapshot !== null) {
    const note = { reason: "released", by: act.created_by };
    await setRetention(vault, engineId(snapshot), (old) => ({ ...old, hold: false }), note);
    await setHold(tx, accountId, snapshot, null);
    return true;
  }
  if (kind === "acceptance" && snapshot !== null) {
    await recordSuspicion(vault, snapshot, false, act.created_by);
    await setAccepted(tx, accountId, snapshot);
    return true;
  }
  return false;
}
