/** The snapshots of an account, page by page. A client that is held to vaults sees those of its vaults alone. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults, findSource, findVaultOfTaxpayer } from "../../vaults/index.ts";
import { statuses, triggers } from "../rules.ts";
import { showSnapshot, snapshotShape } from "../shapes.ts";
import { listSnapshots as readSnapshots } from "../store.ts";

const operation = "snapshots.list";

export const listSnapshots = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/snapshots",
    aliases: ["/snapshots"],
    tag: "snapshots",
    summary: "List snapshots",
    description: "The account's snapshots, newest first. Deleted ones are not listed.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    limits: ["snapshots_list"],
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      status: Type.Optional(oneOf(statuses, "Only those with this status.")),
      source: Type.Optional(text(200, { description: "Only those of this source: its id, or its name in the vault." })),
      vault_id: Type.Optional(uuid("Only those of this vault.")),
      taxpayer_id: Type.Optional(uuid("Only those of this taxpayer.")),
      trigger: Type.Optional(oneOf(triggers, "Only those that this started.")),
      created_after: Type.Optional(timestamp("Only those created at this time or later.")),
      created_before: Type.Optional(timestamp("Only those created before this time.")),
    }),
    replies: { 200: { description: "A page of snapshots.", body: pageOf(snapshotShape, "SnapshotPage") } },
  },
  async (ctx, { principal, query, language }) => {
    const { limit: _limit, cursor: _cursor, sort: _sort, ...filters } = query;
    const vaults = allowedVaults(principal);
    const binding = { operation, filters: [principal.accountId, filters, vaults], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), async (tx) => {
      let vaultIds: readonly string[] | null = vaults;
      const keepOnly = (vaultId: string | undefined) => {
        const isSeen = vaultId !== undefined && (vaultIds?.includes(vaultId) ?? true);
        vaultIds = isSeen ? [vaultId] : [];
      };
      if (query.vault_id !== undefined) keepOnly(query.vault_id);
      const { taxpayer_id: taxpayerId } = query;
      const ofTaxpayer =
        taxpayerId === undefined ? undefined : await findVaultOfTaxpayer(tx, principal.accountId, taxpayerId);
      if (taxpayerId !== undefined) keepOnly(ofTaxpayer?.id);
      const vaultId = query.vault_id ?? ofTaxpayer?.id;
      const source =
        query.source === undefined ? null : await findSource(tx, principal, { source: query.source, vaultId });
      if (source === undefined) return [];
      return readSnapshots(
        tx,
        principal.accountId,
        {
          ...{ vaultIds, status: query.status, trigger: query.trigger, sourceId: source?.id },
          ...{ createdAfter: query.created_after, createdBefore: query.created_before },
        },
        page,
      );
    });
    const show = (row: (typeof rows)[number]) => showSnapshot(row, { language, seesStorage: true });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);
