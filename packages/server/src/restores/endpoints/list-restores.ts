/** The restores of an account, page by page. A client that is held to vaults sees those of its vaults alone. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { statuses } from "../rules.ts";
import { restoreShape, showRestore } from "../shapes.ts";
import { listRestores as readRestores } from "../store.ts";

const operation = "restores.list";

export const listRestores = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/restore",
    tag: "restores",
    summary: "List restores",
    description: "The account's restores, newest first.",
    access: { kind: "account", scope: "restores:read" },
    withinVaults: true,
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      status: Type.Optional(oneOf(statuses, "Only those with this status.")),
      snapshot_id: Type.Optional(uuid("Only those of this snapshot.")),
    }),
    replies: { 200: { description: "A page of restores.", body: pageOf(restoreShape, "RestorePage") } },
  },
  async (ctx, { principal, query, language }) => {
    const { status, snapshot_id: snapshotId } = query;
    const vaultIds = allowedVaults(principal);
    const filters = [principal.accountId, status ?? null, snapshotId ?? null, vaultIds];
    const binding = { operation, filters, sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) =>
      readRestores(tx, principal.accountId, { status, snapshotId, vaultIds }, page),
    );
    const show = (row: (typeof rows)[number]) => showRestore(row, language, ctx.clock.now());
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);
