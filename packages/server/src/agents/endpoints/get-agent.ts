/** `GET /v1/agents/{id}`: one agent. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { agentId, reads, shared } from "../rules.ts";
import { agentSchema, agentShape } from "../shapes.ts";
import { findAgent } from "../store.ts";

export const getAgent = endpoint(
  {
    ...shared,
    id: "agents.get",
    method: "GET",
    path: "/v1/agents/{id}",
    summary: "Read an agent",
    description: "Its machine, what the machine permits, its vaults, and how its last upload ended.",
    access: reads,
    params: agentId,
    replies: { 200: { description: "The agent.", body: agentSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) => findAgent(tx, principal.accountId, params.id));
    const vaults = allowedVaults(principal);
    const isSeen = vaults === null || row?.vault_ids.some((id) => vaults.includes(id)) === true;
    if (row === undefined || !isSeen) throw new Problem("not_found");
    return { status: 200, body: agentShape(row, ctx.clock.now(), vaults) };
  },
);
