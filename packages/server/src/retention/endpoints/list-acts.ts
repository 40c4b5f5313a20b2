/** `GET /v1/pending-acts`: acts that could remove snapshots earlier, waiting and ended ones. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults, reads } from "../../vaults/index.ts";
import { actStates, listActs as readActs } from "../act-store.ts";
import { actShape, showAct } from "../shapes.ts";

const operation = "pending_acts.list";

export const listActs = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/pending-acts",
    tag: "retention",
    summary: "List acts that wait",
    description:
      "Changes of policies, releases of holds, acceptances and deletions that could remove a snapshot earlier. Each waits 72 hours, in which any owner cancels it.",
    access: reads,
    withinVaults: true,
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(actStates, "Only those in this state.")),
    }),
    replies: { 200: { description: "A page of acts.", body: pageOf(actShape, "PendingActs") } },
  },
  async (ctx, { principal, query }) => {
    const { state } = query;
    const vaultIds = allowedVaults(principal);
    const binding = { operation, filters: [principal.accountId, state ?? null, vaultIds], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) =>
      readActs(tx, principal.accountId, { state, vaultIds }, page),
    );
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showAct) };
  },
);
