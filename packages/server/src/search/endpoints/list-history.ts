/** `GET /v1/files/history`: the versions of one path of a source. */

import { type CursorBinding, pageFields, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { historyOf } from "../../paths/index.ts";
import { maxPathBytes } from "../../snapshots/index.ts";
import { findSource } from "../../vaults/index.ts";
import { projectionSchema, showProgress, showVersion, versionFields } from "../shapes.ts";

const operation = "files.list_history";
const bySnapshot = sortable("since");

const fileVersion = closed(versionFields, { title: "FileVersion" });

export const listHistory = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/files/history",
    tag: "files",
    summary: "List the versions of a file",
    description:
      "What was at a path of a source, the newest first. Snapshots between the last snapshot of a version and the first of the next one have nothing there. A path that no snapshot has is an empty list.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    bytesParameter: "path",
    query: closed({
      source: text(200, { description: "The source: its id, or its name in the vault.", examples: ["belgeler"] }),
      vault_id: Type.Optional(uuid("The vault of the source, where its name is given; the default vault if absent.")),
      path: text(maxPathBytes, {
        description: "The path. Any bytes, percent-encoded, as in the paths of files.",
        examples: ["2026/fatura.xml"],
      }),
      limit: pageQuery.limit,
      cursor: pageQuery.cursor,
    }),
    replies: {
      200: {
        description: "A page.",
        body: closed(
          {
            ...pageFields(fileVersion),
            projection: projectionSchema,
          },
          { title: "FileVersionPage" },
        ),
      },
    },
    errors: ["not_found"],
  },
  async (ctx, { principal, query, queryBytes }) => {
    const { accountId } = principal;
    const path = queryBytes ?? Buffer.alloc(0);
    const read = await ctx.read(rowAccessOf(principal), async (tx) => {
      const source = await findSource(tx, principal, { source: query.source, vaultId: query.vault_id });
      if (source === undefined) throw new Problem("not_found");
      const filters = [accountId, source.id, path.toString("base64")];
      const binding: CursorBinding = { operation, filters, sorting: bySnapshot };
      const { after, take } = ctx.cursors.start(query, binding);
      const of = { sourceId: source.id, vaultId: source.vault_id, path };
      const history = await historyOf({ tx, secrets: ctx.secrets, accountId }, of, {
        before: after?.key ?? null,
        take,
      });
      return { history, binding };
    });
    const { versions, progress } = read.history;
    const rows = versions.map((version) => ({ ...version, id: version.since }));
    const page = ctx.cursors.page(rows, query, read.binding, showVersion);
    return { status: 200, body: { ...page, projection: showProgress(progress) } };
  },
);
