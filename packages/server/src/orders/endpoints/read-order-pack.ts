/** `GET /v1/orders/{id}/packs/{name}`: sealed bytes of a pack, for the agent of an order. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { deadlineMs, packReply } from "../../reads/index.ts";
import { access, orderAtWork, shared } from "../own-agent.ts";
import { openOrder } from "../read-operations.ts";

const octets = "application/octet-stream";

export const readOrderPack = endpoint(
  {
    ...{ tag: shared.tag, withinVaults: true, id: "orders.read_pack", method: "GET" },
    path: "/v1/orders/{id}/packs/{name}",
    summary: "Read a pack for an order",
    description:
      "As `GET /v1/snapshots/{id}/packs/{name}`, for the agent that works on the order. 409: the order has ended.",
    access,
    content: true,
    params: closed({
      id: uuid("The order."),
      name: identifier("^[0-9a-f]{32}$", "The pack's id.", "0a".repeat(16)),
    }),
    deadlineMs,
    replies: {
      200: { description: "The pack.", stream: [octets] },
      206: { description: "A part of the pack.", stream: [octets] },
    },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, conditions }) => {
    const { vault } = await openOrder(ctx, principal, params.id);
    // The order can end while the bytes are sent, and the agent can be revoked without its client.
    const recheck = async () => {
      const now = (await ctx.recheck()) as typeof principal;
      await ctx.read(rowAccessOf(now), (tx) => orderAtWork(tx, now, params.id));
    };
    const holder = { accountId: principal.accountId, recheck };
    return packReply(ctx, conditions, { vault, name: params.name }, { holder });
  },
);
