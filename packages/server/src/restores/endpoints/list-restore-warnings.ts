/** What a restore could not read, page by page. */

import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { textFields, warningShape } from "../../snapshots/index.ts";
import { visibleRestore } from "../read-restore.ts";
import { restoreId } from "../shapes.ts";
import { listWarnings } from "../store.ts";

const operation = "restores.list_warnings";
const inOrder = sortable("position");

export const listRestoreWarnings = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/restore/{id}/warnings",
    tag: "restores",
    summary: "List a restore's warnings",
    description:
      "Every file whose content cannot be read (`content_damaged`), and every directory some of whose entries cannot be (`entries_unreadable`), in the order of the archive.",
    access: { kind: "account", scope: "restores:read" },
    withinVaults: true,
    params: restoreId,
    query: closed({ ...pageQuery }),
    replies: {
      200: {
        description: "A page of warnings.",
        body: pageOf(warningShape, "RestoreWarningPage"),
      },
    },
  },
  async (ctx, { principal, params, query }) => {
    const binding = { operation, filters: [params.id], sorting: inOrder };
    const { after, take } = ctx.cursors.start(query, binding);
    await visibleRestore(ctx, principal, params.id);
    const first = after === null ? 0 : Number(after.key) + 1;
    const found = await ctx.read(rowAccessOf(principal), (tx) =>
      listWarnings(tx, principal.accountId, params.id, first, take),
    );
    const rows = found.map(({ number, ...warning }) => ({ id: params.id, position: number, warning }));
    const page = ctx.cursors.page(rows, query, binding, ({ warning: { path, code } }) => ({
      ...textFields("path", path),
      code,
    }));
    return { status: 200, body: page };
  },
);
