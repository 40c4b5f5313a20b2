/** `GET /v1/account`: the account that the token belongs to. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountSchema, accountShape } from "../shapes.ts";
import { findAccount } from "../store.ts";

export const getAccount = endpoint(
  {
    id: "account.get",
    method: "GET",
    path: "/v1/account",
    tag: "account",
    summary: "Read the account",
    description: "The account, its package and its entitlements.",
    access: { kind: "account", scope: "account:read" },
    replies: { 200: { description: "The account.", body: accountSchema } },
    errors: ["not_found"],
  },
  async (ctx, { principal }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) => findAccount(tx, principal.accountId));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: accountShape(row) };
  },
);
