/** `DELETE /v1/agents/{id}`: an agent is revoked. */

import { revokeSession } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { recordRevocation } from "../jobs.ts";
import { mailAboutAgent } from "../mail-about-agent.ts";
import { agentId, shared } from "../rules.ts";
import { agentShape } from "../shapes.ts";
import { lockAgent, revokeAgent } from "../store.ts";

export const deleteAgent = endpoint(
  {
    id: "agents.delete",
    method: "DELETE",
    path: "/v1/agents/{id}",
    tag: shared.tag,
    summary: "Revoke an agent",
    description:
      "Its tokens and its key are refused from now on, for uploads in progress too. What it stored stays. The same key is never accepted again. This also works while the account is suspended.",
    access: { kind: "account", scope: "snapshots:write", roles: ["owner", "manager"] },
    stepUp: true,
    whileSuspended: true,
    params: agentId,
    ifMatch: "optional",
    replies: { 204: { description: "Revoked.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId } = principal;
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const agent = await lockAgent(tx, accountId, params.id);
      if (agent === undefined) throw new Problem("not_found");
      requireMatch(agentShape(agent, ctx.clock.now(), null));
      await revokeAgent(tx, agent);
      // All agents share one OAuth client, so the grant ends, not the client.
      if (agent.writer_kind === "agent") await revokeSession(tx, agent.writer_id, "revoked");
      await tx.job({ task: recordRevocation, payload: { accountId, agentId: agent.id } });
      const targets = [{ type: "agent", id: agent.id }, ...agent.vault_ids.map((id) => ({ type: "vault", id }))];
      tx.audit({ action: "agent.revoked", targets });
      await mailAboutAgent(tx, ctx, "agent_removed", agent, principal);
    });
    return { status: 204 };
  },
);
