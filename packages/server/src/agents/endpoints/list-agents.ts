/** `GET /v1/agents`: the agents of an account. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { reads, shared } from "../rules.ts";
import { agentSchema, agentShape } from "../shapes.ts";
import { listAgents } from "../store.ts";

export const listAgentsOfAccount = endpoint(
  {
    ...shared,
    id: "agents.list",
    method: "GET",
    path: "/v1/agents",
    summary: "List the agents",
    description:
      "Newest first, without revoked ones. A client that is held to vaults sees the agents of these vaults, and of their vaults only these.",
    access: reads,
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(agentSchema, "AgentPage") } },
  },
  async (ctx, { principal, query }) => {
    const vaults = allowedVaults(principal);
    const filters = [principal.accountId, ...(vaults ?? ["*"])];
    const binding = { operation: "agents.list", filters, sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listAgents(tx, principal.accountId, vaults, page));
    const now = ctx.clock.now();
    return { status: 200, body: ctx.cursors.page(rows, query, binding, (row) => agentShape(row, now, vaults)) };
  },
);
