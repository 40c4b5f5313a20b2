/** `GET /v1/agents/{id}/keys`: what the agent itself needs to write. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { writerOf } from "../../vaults/index.ts";
import { agentId, shared, writes } from "../rules.ts";
import { keysSchema } from "../shapes.ts";
import { agentOfWriter, noteSeen, registrationsOf } from "../store.ts";
import { writerKeysOf } from "../vault-keys.ts";

export const getAgentKeys = endpoint(
  {
    ...shared,
    id: "agents.get_keys",
    method: "GET",
    path: "/v1/agents/{id}/keys",
    summary: "Read the writer's keys",
    description:
      "For the agent itself; everybody else gets 404. Read them again when an upload is refused with `outdated_keys`.",
    access: writes,
    secret: true,
    params: agentId,
    replies: { 200: { description: "The keys.", body: closed({ keys: keysSchema }, { title: "AgentKeys" }) } },
    errors: ["unavailable"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const registrations = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const agent = await agentOfWriter(tx, accountId, writerOf(principal));
      if (agent?.id !== params.id) throw new Problem("not_found");
      await noteSeen(tx, agent);
      return registrationsOf(tx, agent.id);
    });
    return { status: 200, body: { keys: await writerKeysOf(ctx, accountId, registrations) } };
  },
);
