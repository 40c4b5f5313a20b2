/** Mails about agents that were added, changed or revoked: to all owners and to the member who allowed it. */

import { mailAboutChange } from "../accounts/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { actorOf, type Principal } from "../kernel/principal.ts";
import type { Tx } from "../kernel/tx.ts";
import type { AgentRow } from "./store.ts";

export async function mailAboutAgent(
  tx: Tx,
  ctx: Pick<Ctx, "random">,
  what: "agent_created" | "agent_changed" | "agent_removed",
  agent: Pick<AgentRow, "name" | "created_by" | "account_id">,
  principal: Principal,
): Promise<void> {
  const of = { client: { name: agent.name, responsible_id: agent.created_by } };
  await mailAboutChange(tx, ctx, { what, accountId: agent.account_id, of, by: actorOf(principal) });
}
