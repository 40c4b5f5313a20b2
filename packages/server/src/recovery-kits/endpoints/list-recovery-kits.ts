/** `GET /v1/recovery-kits`: every order of a kit, also those that were fetched. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { kitShape, ownersOnly, showKit } from "../shapes.ts";
import { listKits } from "../store.ts";

const operation = "recovery_kits.list";

export const listRecoveryKits = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/recovery-kits",
    tag: "vaults",
    summary: "List recovery kits",
    description:
      "Every kit that was ordered, with who fetched it and when. A kit that was fetched opens its vault for ever: draw a new key pair (`vaults.rotate_keys`) if it may be in wrong hands. Owners only.",
    access: ownersOnly,
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page of kits.", body: pageOf(kitShape, "RecoveryKits") } },
  },
  async (ctx, { principal, query }) => {
    const { accountId } = principal;
    const binding = { operation, filters: [accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listKits(tx, accountId, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showKit(ctx.clock.now())) };
  },
);
