/** `GET /v1/admin/accounts/{id}`: one customer, for staff. */

import { accountSchema, accountShape, findAccount } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { Problem } from "../../kernel/problems.ts";
import { idParam } from "../shapes.ts";

export const getAdminAccount = endpoint(
  {
    id: "admin.get_account",
    method: "GET",
    path: "/v1/admin/accounts/{id}",
    tag: "admin",
    summary: "Read an account",
    description: "One customer's account.",
    access: { kind: "staff" },
    params: idParam,
    replies: { 200: { description: "The account.", body: accountSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.tx({ kind: "staff" }, (tx) => findAccount(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: accountShape(row) };
  },
);
