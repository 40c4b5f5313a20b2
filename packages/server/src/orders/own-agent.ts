/** The agent that calls, and its order. Everybody else finds nothing. */

import { type AgentRow, agentOfWriter } from "../agents/index.ts";
import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { findRestore, isAtWork, isOrder, lockOrder, type OrderRecord } from "../restores/index.ts";
import { isVaultAllowed, writerOf } from "../vaults/index.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

export const shared = { tag: "orders", withinVaults: true, whileSuspended: true } as const;

/** Write-only credentials suffice: what an agent may read, its order says. */
export const access = { kind: "account", scope: "snapshots:write" } as const;

/** Throws `not_found` for a caller without a live agent. */
export async function ownAgent(tx: ReadTx, principal: AccountPrincipal): Promise<AgentRow> {
  const agent = await agentOfWriter(tx, principal.accountId, writerOf(principal));
  if (agent === undefined) throw new Problem("not_found");
  return agent;
}

/** The caller's order, locked. Throws `not_found` for one of another agent, or of a vault that the agent has not any more. */
export async function lockOwnOrder(tx: Tx, principal: AccountPrincipal, id: string): Promise<OrderRecord> {
  const agent = await ownAgent(tx, principal);
  const order = await lockOrder(tx, principal.accountId, agent.id, id);
  requireVault(principal, agent, order);
  return order;
}

/** The caller's order, on which one of its runs works. Throws `not_found`, and `state_conflict` for one that is not at work. */
export async function orderAtWork(tx: ReadTx, principal: AccountPrincipal, id: string): Promise<OrderRecord> {
  const agent = await ownAgent(tx, principal);
  const restore = await findRestore(tx, principal.accountId, id);
  if (restore === undefined || !isOrder(restore) || restore.agent_id !== agent.id) throw new Problem("not_found");
  requireVault(principal, agent, restore);
  if (!isAtWork(restore, tx.now)) throw new Problem("state_conflict");
  return restore;
}

function requireVault(principal: AccountPrincipal, agent: AgentRow, order: OrderRecord): void {
  const isOpen = agent.vault_ids.includes(order.vault_id) && isVaultAllowed(principal, order.vault_id);
  if (!isOpen) throw new Problem("not_found");
}
