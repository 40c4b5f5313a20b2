/** `GET /v1/admin/accounts`, `GET /v1/admin/members`: the customers and their people, for staff. */

import {
  type AccountRow,
  accountSchema,
  accountShape,
  findAccount,
  listAccounts,
  listAllMembers,
  memberShape,
  type PersonRow,
} from "../../accounts/index.ts";
import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { adminMemberSchema, idParam } from "../shapes.ts";

const shared = { tag: "admin", method: "GET", access: { kind: "staff" } } as const;

export const listAdminAccounts = endpoint(
  {
    ...shared,
    id: "admin.list_accounts",
    path: "/v1/admin/accounts",
    summary: "List the accounts",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      state: Type.Optional(oneOf(["active", "suspended", "closed"], "Only those in this state.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(accountSchema, "AdminAccountPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_accounts", filters: [query.state ?? null] };
    const page = ctx.cursors.start(query, binding);
    const filter = query.state === undefined ? {} : { state: query.state };
    const rows = await ctx.tx({ kind: "staff" }, (tx) => listAccounts(tx, filter, page));
    const position = (row: AccountRow) => ({ key: row.created_at.toISOString(), id: row.id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, { position, item: accountShape }) };
  },
);

export const getAdminAccount = endpoint(
  {
    ...shared,
    id: "admin.get_account",
    path: "/v1/admin/accounts/{id}",
    summary: "Read an account",
    description: "One customer's account.",
    params: idParam,
    replies: { 200: { description: "The account.", body: accountSchema } },
  },
  async (ctx, { params }) => {
    const row = await ctx.tx({ kind: "staff" }, (tx) => findAccount(tx, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: accountShape(row) };
  },
);

export const listAdminMembers = endpoint(
  {
    ...shared,
    id: "admin.list_members",
    path: "/v1/admin/members",
    summary: "List the members of all accounts",
    description: "Newest first.",
    query: closed({ ...pageQuery }),
    replies: { 200: { description: "A page.", body: pageOf(adminMemberSchema, "AdminMemberPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_members", filters: [] };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.tx({ kind: "staff" }, (tx) => listAllMembers(tx, page));
    const position = (row: PersonRow) => ({ key: row.created_at.toISOString(), id: row.id });
    const item = (row: PersonRow) => ({ ...memberShape(row), account_id: row.account_id ?? "" });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, { position, item }) };
  },
);
