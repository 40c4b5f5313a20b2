/** Carries out an act whose 72 hours are over. The chain must have the act; its time is judged by the earliest of three clocks. */

import { setRetention, signedRetention } from "@emanet/engine";
import type { Tx } from "../kernel/tx.ts";
import { engineId } from "../snapshots/index.ts";
import { type ActRow, endAct, lockAct } from "./act-store.ts";
import { targetsOfRow } from "./acts.ts";
import {
  type ChainAct,
  type ChainRetention,
  isDeletion,
  policyOf,
  readChainRetention,
  recordAct,
  recordRetentionPolicy,
  recordSuspicion,
} from "./chain.ts";
import { carryOutClosing } from "./closing.ts";
import { carryOutDeletion } from "./deletions.ts";
import { lockPolicies, setPolicy } from "./policy-store.ts";
import { noPolicy } from "./rules.ts";
import { setAccepted, setHold } from "./snapshot-store.ts";
import type { Steps } from "./steps.ts";

const by = "retention.apply";

export async function carryOut(steps: Steps, { id }: ActRow): Promise<void> {
  const { accountId, vault, run, log, now } = steps;
  await run(async (tx) => {
    await lockPolicies(tx, steps.vaultId);
    const chain = await readChainRetention(vault);
    const known = chain.acts.get(id);
    const act = await lockAct(tx, accountId, id);
    // An owner has canceled it meanwhile.
    if (act?.state !== "waiting") return;
    const isDone = isOf(act, known, now) && (await doAct(steps, tx, act, { chain, known }));
    const state = isDone ? "done" : "refused";
    if (state === "refused") {
      log.error("act_refused", { target_id: id });
      await recordAct(vault, id, null, by);
    }
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

interface InChain {
  readonly chain: ChainRetention;
  readonly known: ChainAct;
}

/**
 * Returns false where it must not be done any more. What it does is the chain's, not the row's. If the chain has the act as done, a
 * process has ended before its commit: the rows get what the chain has now, and the chain does not change again.
 */
async function doAct(steps: Steps, tx: Tx, act: ActRow, { chain, known }: InChain): Promise<boolean> {
  const { accountId, vaultId, vault } = steps;
  const { kind, source, snapshot, done: isInChain } = known;
  if (isDeletion(kind)) return carryOutDeletion(steps, tx, act, known);
  if (kind === "account_closing") return carryOutClosing(steps, tx, act, known);
  const noteDone = () => recordAct(vault, act.id, { ...known, done: true }, by);
  if (kind === "policy_change" && known.policy !== null) {
    const now = source === null ? chain.vaultPolicy : chain.sourcePolicies.get(source);
    const policy = isInChain ? (now ?? noPolicy) : policyOf(known.policy);
    if (!isInChain) await recordRetentionPolicy(vault, source, policy, act.created_by);
    await noteDone();
    await setPolicy(tx, { accountId, vaultId, sourceId: source }, policy);
    return true;
  }
  if (kind === "hold_release" && snapshot !== null) {
    const note = { reason: "released", by: act.created_by };
    if (!isInChain) await setRetention(vault, engineId(snapshot), (old) => ({ ...old, hold: false }), note);
    await noteDone();
    const isHeld = (await signedRetention(vault, engineId(snapshot)))?.hold === true;
    if (!isHeld) await setHold(tx, accountId, snapshot, null);
    return true;
  }
  if (kind === "acceptance" && snapshot !== null) {
    if (!isInChain) await recordSuspicion(vault, snapshot, false, act.created_by);
    await noteDone();
    if (!isInChain || !chain.suspicious.has(snapshot)) await setAccepted(tx, accountId, snapshot);
    return true;
  }
  return false;
}
