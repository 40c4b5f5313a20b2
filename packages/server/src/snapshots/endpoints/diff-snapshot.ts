/** What is different in a snapshot from another one of its vault, page by page. */

import type { TreeEntry } from "@emanet/engine";
import { type CursorBinding, pageFields, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { type DiffRow, readDiff } from "../diff-pages.ts";
import { openContent, type SnapshotContent, withStoreProblems } from "../read-content.ts";
import { snapshotId } from "../shapes.ts";
import { completedBefore } from "../store.ts";
import { entryFields, pathFields, showEntry, textFields } from "../tree-shapes.ts";

/** As of the pages of a directory. */
const maxDiffPage = 1000;
const defaultDiffPage = 100;

const operation = "snapshots.diff";
const byPath = sortable("place");

const sideOf = (description: string) => nullable(closed(entryFields, { description }));

const change = closed(
  {
    change: oneOf(["added", "removed", "changed"], "What happened to the path."),
    ...pathFields,
    before: sideOf("What was there; null if it was added."),
    after: sideOf("What is there; null if it was removed."),
  },
  { title: "PathChange" },
);

export const diffSnapshot = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/snapshots/{id}/diff",
    aliases: ["/snapshots/{id}/diff"],
    tag: "snapshots",
    summary: "Compare a snapshot with another one",
    description:
      "Paths that were added, removed or changed since another snapshot of the same vault, in the order of a walk: a directory comes before what is in it. A file is changed if its content or its metadata is, a directory if its own metadata is. Everything below a directory that was added or removed is named too.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    params: snapshotId,
    query: closed({
      from: Type.Optional(
        uuid("The older snapshot. If absent: the completed one of the same source before this one, or nothing."),
      ),
      cursor: pageQuery.cursor,
      limit: Type.Optional(
        Type.Integer({
          ...{ minimum: 1, maximum: maxDiffPage, format: "int32" },
          description: `Number of changes per page (default ${defaultDiffPage}).`,
        }),
      ),
    }),
    replies: {
      200: {
        description: "A page of changes.",
        body: closed(
          {
            from_snapshot_id: nullable(uuid("The snapshot it was compared with; null: with nothing.")),
            ...pageFields(change, maxDiffPage),
          },
          { title: "SnapshotDiffPage" },
        ),
      },
    },
    errors: ["state_conflict", "snapshot_expired", "validation_failed"],
  },
  async (ctx, { principal, params, query, language }) => {
    const request = { ...query, limit: query.limit ?? defaultDiffPage };
    const content = await openContent(ctx, principal, params.id);
    const from = query.from ?? (await ctx.read(rowAccessOf(principal), (tx) => completedBefore(tx, content.record)));
    const binding: CursorBinding = { operation, filters: [params.id, from], sorting: byPath };
    const { after, take } = ctx.cursors.start(request, binding);
    let before: SnapshotContent | null = null;
    if (from !== null) {
      before = await openContent(ctx, principal, from);
      if (before.record.vault_id !== content.record.vault_id)
        throw new Problem("validation_failed", { errors: [invalidField("/query/from", "not_allowed", language)] });
    }
    const rows = await withStoreProblems(() => readDiff(before, content, { place: after?.key ?? null, take }));
    return { status: 200, body: { from_snapshot_id: from, ...ctx.cursors.page(rows, request, binding, show) } };
  },
);

function show({ change: found }: DiffRow) {
  const path = Buffer.from(found.path);
  const side = (entry: TreeEntry | null) => {
    if (entry === null) return null;
    const { type, size_bytes, mtime, mode, hash } = showEntry(entry, path);
    return { type, size_bytes, mtime, mode, hash };
  };
  return {
    change: found.kind,
    ...textFields("name", path.subarray(path.lastIndexOf("/") + 1)),
    ...textFields("path", path),
    before: side(found.kind === "added" ? null : found.before),
    after: side(found.kind === "removed" ? null : found.after),
  };
}
