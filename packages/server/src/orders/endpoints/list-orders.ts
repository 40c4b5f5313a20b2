/** `GET /v1/agents/{id}/orders`: the orders that an agent can take, with long polling. */

import { noteSeen } from "../../agents/index.ts";
import { monotonicMs } from "../../kernel/clock.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { ordersToTake } from "../../restores/index.ts";
import { isVaultAllowed } from "../../vaults/index.ts";
import { access, ownAgent, shared } from "../own-agent.ts";
import { orderShape, runId, showOrder } from "../shapes.ts";

/** Proxies and load balancers cut requests after 60 seconds, some after 30. */
const maxWaitSeconds = 30;
/** The wait, and the time that a busy database needs. */
const deadlineMs = (maxWaitSeconds + 15) * 1000;
/** The contract's time between two checks of the caller's rights while it waits. */
const recheckMs = 10_000;
/** An agent works on one after the other. */
const maxOrders = 10;

export const listOrders = endpoint(
  {
    ...shared,
    id: "orders.list",
    method: "GET",
    path: "/v1/agents/{id}/orders",
    summary: "Read an agent's orders, or wait for one",
    description:
      "For the agent itself; everybody else gets 404. The orders that it can take, the oldest first: those that wait, and those of another run of it that has not reported for two minutes. With `wait` the answer comes as soon as there is one, or empty after so many seconds. The call also says that the agent lives.",
    access,
    deadlineMs,
    params: closed({ id: uuid("Id of the agent.") }),
    query: closed({
      wait: Type.Optional(
        Type.Integer({
          ...{ format: "int32", minimum: 0, maximum: maxWaitSeconds },
          description: "Seconds to wait for an order when there is none (0).",
        }),
      ),
      run_id: Type.Optional(runId),
    }),
    replies: {
      200: {
        description: "The orders.",
        body: closed({ data: Type.Array(orderShape, { maxItems: maxOrders }) }, { title: "Orders" }),
      },
    },
  },
  async (ctx, call) => {
    const { params, query } = call;
    const { waits } = ctx.services.orders;
    const endsAtMs = monotonicMs() + (query.wait ?? 0) * 1000;
    let { principal } = call;
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const agent = await ownAgent(tx, principal);
      if (agent.id === params.id) await noteSeen(tx, agent);
    });
    for (let checkedAtMs = monotonicMs(); ; ) {
      const { accountId } = principal;
      const rows = await ctx.read(rowAccessOf(principal), async (tx) => {
        const agent = await ownAgent(tx, principal);
        if (agent.id !== params.id) throw new Problem("not_found");
        const found = await ordersToTake(tx, accountId, agent.id, { runId: query.run_id, limit: maxOrders });
        return found.filter(({ vault_id: id }) => agent.vault_ids.includes(id) && isVaultAllowed(principal, id));
      });
      const leftMs = endsAtMs - monotonicMs();
      if (rows.length > 0 || leftMs <= 0 || !waits.mayWait(params.id) || ctx.signal.aborted)
        return { status: 200, body: { data: rows.map(showOrder) } };
      const untilCheckMs = Math.max(checkedAtMs + recheckMs - monotonicMs(), 0);
      await waits.wait(params.id, Math.min(leftMs, untilCheckMs), ctx.signal);
      if (monotonicMs() < checkedAtMs + recheckMs) continue;
      principal = (await ctx.recheck()) as typeof principal;
      checkedAtMs = monotonicMs();
    }
  },
);
