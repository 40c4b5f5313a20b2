/** The warnings of a snapshot, page by page. They are read from its manifest, which has all of them. */

import { openDetails, openManifest } from "@emanet/engine";
import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { engineId } from "../engine-id.ts";
import { visibleSnapshot, withStoreProblems } from "../read-content.ts";
import { contentProblem } from "../rules.ts";
import { snapshotId } from "../shapes.ts";
import { showWarning, warningShape } from "../tree-shapes.ts";

const operation = "snapshots.list_warnings";
const inOrder = sortable("position");

export const listWarnings = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/snapshots/{id}/warnings",
    aliases: ["/snapshots/{id}/warnings"],
    tag: "snapshots",
    summary: "List a snapshot's warnings",
    description:
      "Every file that is not in the snapshot as it should be, and why, in the order of the backup. With `name_twin` the entry is there as it should be: its name differs only in case or Unicode normal form (NFC, NFD) from an earlier one in the same directory, so Windows and macOS would take both for one. Agents do not report twins.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    params: snapshotId,
    query: closed({ ...pageQuery }),
    replies: {
      200: {
        description: "A page of warnings.",
        body: pageOf(warningShape, "SnapshotWarningPage"),
      },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, query }) => {
    const binding = { operation, filters: [params.id], sorting: inOrder };
    const { after, take } = ctx.cursors.start(query, binding);
    const record = await visibleSnapshot(ctx, principal, params.id);
    const problem = contentProblem(record.status);
    if (problem !== null) throw new Problem(problem);
    const first = after === null ? 0 : Number(after.key) + 1;
    const rows = await withStoreProblems(async () => {
      if (record.warning_count === 0) return [];
      const { store, names, keys, authority } = await ctx.services.vaults.open(principal.accountId, record.vault_id);
      const snapshot = engineId(params.id);
      const bytes = await store.get(names.manifest(snapshot));
      const manifest = openManifest(bytes, { snapshot, vaultId: keys.vaultId }, authority.publicKey);
      const warnings = openDetails(keys, manifest).warnings();
      return Iterator.from(warnings)
        .drop(first)
        .take(take)
        .map((warning, at) => ({ id: params.id, position: first + at, warning }))
        .toArray();
    });
    const page = ctx.cursors.page(rows, query, binding, ({ warning }) => showWarning(warning));
    return { status: 200, body: page };
  },
);
