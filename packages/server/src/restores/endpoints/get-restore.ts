/** One restore, with the paths that were asked for and what could not be read. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { textFields } from "../../snapshots/index.ts";
import { visibleRestore } from "../read-restore.ts";
import { restoreId, restoreWithPaths, shownWarnings, showPath, showRestore } from "../shapes.ts";
import { listWarnings } from "../store.ts";

export const getRestore = endpoint(
  {
    id: "restores.get",
    method: "GET",
    path: "/v1/restore/{id}",
    tag: "restores",
    summary: "Read a restore",
    description: "How far it is, and afterwards what it has. `warnings` names what could not be read.",
    access: { kind: "account", scope: "restores:read" },
    withinVaults: true,
    params: restoreId,
    replies: { 200: { description: "The restore.", body: restoreWithPaths } },
  },
  async (ctx, { principal, params, language }) => {
    const restore = await visibleRestore(ctx, principal, params.id);
    const warnings =
      restore.warning_count === 0
        ? []
        : await ctx.read(rowAccessOf(principal), (tx) =>
            listWarnings(tx, principal.accountId, params.id, 0, shownWarnings),
          );
    const body = {
      ...showRestore(restore, language, ctx.clock.now()),
      paths: restore.paths?.map(showPath) ?? null,
      warnings: warnings.map(({ path, code }) => ({ ...textFields("path", path), code })),
    };
    return { status: 200, body };
  },
);
