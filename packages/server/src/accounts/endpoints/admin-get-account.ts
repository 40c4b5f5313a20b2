/** `GET /v1/admin/accounts/{id}`: one customer, for staff. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountSchema, accountShape } from "../shapes.ts";
import { idParam, staffOperation } from "../staff-operations.ts";
import { findAccount } from "../store.ts";

export const adminGetAccount = endpoint(
  {
    ...staffOperation,
    id: "admin.get_account",
    method: "GET",
    path: "/v1/admin/accounts/{id}",
    summary: "Read an account",
    description: "One customer's account.",
    params: idParam,
    replies: { 200: { description: "The account.", body: accountSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.read({ kind: "staff" }, (tx) => findAccount(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: accountShape(row) };
  },
);
