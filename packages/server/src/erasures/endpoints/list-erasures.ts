/** `GET /v1/erasures`: the vaults of the account that were erased, with their proofs. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { erasureShape, showErasure } from "../shapes.ts";
import { listErasures as readErasures } from "../store.ts";

const operation = "erasures.list";

export const listErasures = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/erasures",
    tag: "account",
    summary: "List erased vaults",
    description:
      "Vaults whose keys, content and names were destroyed, at the end of a deletion or of the 90 days of a closed account, each with a signed proof. Owners of a closed account can read them for 30 days after its last vault was erased; each is mailed to them too. Owners only.",
    access: { kind: "account", scope: "account:read", roles: ["owner"] },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page of erasures.", body: pageOf(erasureShape, "Erasures") } },
  },
  async (ctx, { principal, query }) => {
    const { accountId } = principal;
    const binding = { operation, filters: [accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => readErasures(tx, accountId, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showErasure) };
  },
);
