/** One directory of a snapshot, page by page, names in byte order. */

import { type DirectoryEntry, entriesOf, type TreeEntry } from "@emanet/engine";
import { type CursorBinding, pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { entryAt, openContent, type SnapshotContent, withStoreProblems } from "../read-content.ts";
import { snapshotId } from "../shapes.ts";
import { queryPath, showEntry, treeEntry } from "../tree-shapes.ts";

/** The contract's. */
const maxTreePage = 1000;
const defaultTreePage = 100;

/** A cursor of 512 characters can hold names of this length. Of longer ones it has the beginning and a count. */
const maxCursorNameBytes = 200;

const operation = "snapshots.list_tree";
const byName = sortable("place");

export const listTree = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/snapshots/{id}/tree",
    aliases: ["/snapshots/{id}/tree"],
    tag: "snapshots",
    summary: "List a directory of a snapshot",
    description:
      "The entries of one directory, their names in byte order. A path that is missing or a file is `not_found`.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    params: snapshotId,
    bytesParameter: "path",
    query: closed({
      path: queryPath("The directory; the root if absent."),
      cursor: pageQuery.cursor,
      limit: Type.Optional(
        Type.Integer({
          ...{ minimum: 1, maximum: maxTreePage, format: "int32" },
          description: `Number of entries per page (default ${defaultTreePage}).`,
        }),
      ),
    }),
    replies: {
      200: {
        description: "A page of entries.",
        body: pageOf(treeEntry, "TreePage", maxTreePage),
      },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, query, queryBytes }) => {
    const request = { ...query, limit: query.limit ?? defaultTreePage };
    const path = queryBytes ?? Buffer.alloc(0);
    const binding: CursorBinding = { operation, filters: [params.id, path.toString("base64")], sorting: byName };
    const { after, take } = ctx.cursors.start(request, binding);
    const content = await openContent(ctx, principal, params.id);
    const directory = await entryAt(content, path);
    if (directory?.type !== "directory") throw new Problem("not_found");
    const rows = await withStoreProblems(() => readPage(content, directory, after?.key ?? null, take, params.id));
    const prefix = path.length === 0 ? path : Buffer.concat([path, Buffer.from("/")]);
    const show = ({ entry }: PageRow) => showEntry(entry, Buffer.concat([prefix, entry.name]));
    return { status: 200, body: ctx.cursors.page(rows, request, binding, show) };
  },
);

interface PageRow {
  readonly id: string;
  readonly place: string;
  readonly entry: TreeEntry;
}

/**
 * The entries of a page. Their *place* is where a cursor continues: a name; for a longer one its beginning, and how many
 * entries with this beginning come before.
 */
async function readPage(
  content: SnapshotContent,
  directory: DirectoryEntry,
  place: string | null,
  take: number,
  id: string,
): Promise<PageRow[]> {
  const { name, skip } = placeOf(place);
  const rows: PageRow[] = [];
  let skipped = 0;
  let previous = { beginning: name, count: skip };
  for await (const entry of entriesOf(content.reader.frames, directory.root, name ?? undefined)) {
    if (skipped++ < skip) continue;
    const beginning = Buffer.from(entry.name).subarray(0, maxCursorNameBytes);
    const isLong = entry.name.length > maxCursorNameBytes;
    // Of names that are too long, the cursor counts those behind the same beginning.
    const count = isLong ? (previous.beginning?.equals(beginning) === true ? previous.count + 1 : 1) : 0;
    previous = { beginning, count };
    rows.push({ id, entry, place: `${count}.${beginning.toString("base64url")}` });
    if (rows.length >= take) break;
  }
  return rows;
}

function placeOf(place: string | null): { readonly name: Buffer | null; readonly skip: number } {
  if (place === null) return { name: null, skip: 0 };
  const [count = "0", name = ""] = place.split(".");
  return { name: Buffer.from(name, "base64url"), skip: Number(count) };
}
