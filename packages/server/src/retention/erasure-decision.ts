/** Whether the signed chains let a vault be erased, and by whose decision. */

import type { Vault } from "@emanet/engine";
import type { Tx } from "../kernel/tx.ts";
import { type ChainAct, readChainRetention } from "./chain.ts";
import { isKept } from "./deletions.ts";
import { lockPolicies } from "./policy-store.ts";
import { unknownMember } from "./recovered-acts.ts";

export interface ErasureDecision {
  readonly cause: "vault_deletion" | "taxpayer_deletion" | "account_closing";
  readonly actId: string;
  /** The member who started the act. */
  readonly orderedBy: string;
  /** The end of its 72 hours. */
  readonly dueAt: Date;
}

interface Asked {
  readonly vaultId: string;
  /** Null: it was never used. */
  readonly vault: Vault | null;
  /** The default vault of its account, whose chain has a closing; null: its keys are gone. */
  readonly ofClosing: Vault | null;
  /** The earliest of three clocks. */
  readonly now: Date;
  readonly signal: AbortSignal;
}

/**
 * Null: the vault must not be erased. No owner has ordered it, its time has not come, or a snapshot of the vault is held, locked or under a floor.
 * Requests that set a hold or a lock wait until the transaction of the caller ends.
 */
export async function erasureDecision(
  { vaultId, vault, ofClosing, now, signal }: Asked,
  tx: Tx,
): Promise<ErasureDecision | null> {
  await lockPolicies(tx, vaultId);
  const deletion =
    vault && (await findDone(vault, ({ kind }) => kind === "vault_deletion" || kind === "taxpayer_deletion"));
  // A row may say that a vault belongs to an account that is closed; the closing itself names its vaults. One that was never used has nothing to lose.
  const isOver = ({ kind, until, vaults }: ChainAct) =>
    kind === "account_closing" &&
    until !== undefined &&
    until <= now.getTime() &&
    (vault === null || vaults?.includes(vaultId) === true);
  const decision = deletion ?? (ofClosing && (await findDone(ofClosing, isOver)));
  if (decision === null) return null;
  if (vault !== null && (await isKept({ vault, vaultId, now, signal }, tx, null))) return null;
  return decision;
}

async function findDone(vault: Vault, isMeant: (act: ChainAct) => boolean): Promise<ErasureDecision | null> {
  for (const [actId, act] of (await readChainRetention(vault)).acts)
    if (act.done === true && isMeant(act))
      return {
        cause: act.kind as ErasureDecision["cause"],
        actId,
        orderedBy: act.by ?? unknownMember,
        dueAt: new Date(act.due),
      };
  return null;
}
