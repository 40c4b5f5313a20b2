/** What the screens read, each with its key in the cache. A key begins with the noun that an event can make old. */

import type { Nights, TreeEntry, Webhook } from "@emanet/client/source";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { addDays, folded, today } from "../format.ts";
import { client } from "./client.ts";

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => client.me.get({}, { signal }),
});

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => client.account.get({}, { signal }),
});

export interface NightBoard {
  readonly from: string;
  readonly to: string;
  readonly rows: readonly Nights[];
}

export const nightsQuery = (days: number) =>
  queryOptions({
    queryKey: ["nights", days],
    queryFn: async ({ signal }): Promise<NightBoard> => {
      const to = today();
      const from = addDays(to, 1 - days);
      const rows: Nights[] = [];
      for await (const row of client.nights.list.all({ from, to }, { signal })) rows.push(row);
      return { from, to, rows };
    },
  });

/** What the whole account stores, over so many days. */
export const usageTotalQuery = (days: number) =>
  queryOptions({
    queryKey: ["usage", days],
    queryFn: ({ signal }) => client.usage.total({ from: addDays(today(), 1 - days) }, { signal }),
  });

export const vaultsQuery = queryOptions({
  queryKey: ["vaults"],
  queryFn: ({ signal }) => Array.fromAsync(client.vaults.list.all({ limit: 100 }, { signal })),
});

export const recentSnapshotsQuery = (limit: number) =>
  queryOptions({
    queryKey: ["snapshots", "recent", limit],
    queryFn: async ({ signal }) => (await client.snapshots.list({ limit, sort: "-created_at" }, { signal })).data,
  });

export const recentRestoresQuery = (limit: number) =>
  queryOptions({
    queryKey: ["restores", "recent", limit],
    queryFn: async ({ signal }) => (await client.restores.list({ limit, sort: "-created_at" }, { signal })).data,
  });

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => Array.fromAsync(client.agents.list.all({ limit: 100 }, { signal })),
});

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: ({ signal }) => Array.fromAsync(client.webhooks.list.all({ limit: 100 }, { signal })),
});

/** Whether the service has disabled it, because its receiver does not answer or is gone. */
export const isClosed = ({ disabled_reason: why }: Webhook): boolean => why === "delivery_failed" || why === "gone";

export const clientsQuery = queryOptions({
  queryKey: ["clients"],
  queryFn: ({ signal }) => Array.fromAsync(client.oauthClients.list.all({ limit: 100 }, { signal })),
});

export const taxpayersQuery = queryOptions({
  queryKey: ["taxpayers"],
  queryFn: ({ signal }) => Array.fromAsync(client.taxpayers.list.all({ limit: 100, state: "active" }, { signal })),
});

export const taxpayerQuery = (id: string) =>
  queryOptions({
    queryKey: ["taxpayers", id],
    queryFn: ({ signal }) => client.taxpayers.get({ id }, { signal }),
  });

export const sourcesQuery = queryOptions({
  queryKey: ["sources"],
  queryFn: ({ signal }) => Array.fromAsync(client.sources.list.all({ limit: 100 }, { signal })),
});

/** The newest snapshots of a vault. */
export const vaultSnapshotsQuery = (vaultId: string) =>
  queryOptions({
    queryKey: ["snapshots", "vault", vaultId],
    queryFn: async ({ signal }) =>
      (await client.snapshots.list({ limit: 100, sort: "-created_at", vault_id: vaultId }, { signal })).data,
  });

export const snapshotQuery = (id: string) =>
  queryOptions({
    queryKey: ["snapshots", id],
    queryFn: ({ signal }) => client.snapshots.get({ id }, { signal }),
  });

/** The snapshots of the same source, newest first. */
export const sourceSnapshotsQuery = (sourceId: string) =>
  queryOptions({
    queryKey: ["snapshots", "source", sourceId],
    queryFn: async ({ signal }) =>
      (await client.snapshots.list({ limit: 100, sort: "-created_at", source: sourceId }, { signal })).data,
  });

const treePage = 1000;

/** Of a folder, what is shown first: more than fit on a screen, and soon there. More than `virtualFrom`, so that the rest is read when it is scrolled to. */
const firstTreePage = 300;

/** Names as they are compared, made when a page comes: of a hundred thousand they would take too long while a person types. */
const foldedNames = new WeakMap<TreeEntry, string>();

export function foldedName(entry: TreeEntry): string {
  const known = foldedNames.get(entry) ?? folded(entry.name);
  foldedNames.set(entry, known);
  return known;
}

/** The entries of one folder, page by page. A snapshot does not change, so they are never old. */
export const treeQuery = (id: string, path: string) =>
  infiniteQueryOptions({
    queryKey: ["tree", id, path],
    initialPageParam: "",
    queryFn: async ({ signal, pageParam }) => {
      const page = await client.snapshots.listTree(
        {
          ...{ id, limit: pageParam === "" ? firstTreePage : treePage },
          ...(path !== "" && { path }),
          ...(pageParam !== "" && { cursor: pageParam }),
        },
        { signal },
      );
      for (const entry of page.data) foldedName(entry);
      return page;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    // A folder may have a hundred pages: comparing all of them with themselves at each new one takes longer than reading it.
    structuralSharing: false,
  });

/** More changes than these are not marked in the tree. */
const maxChangePages = 5;

/** What changed since the snapshot before, by path. */
export const changesQuery = (id: string) =>
  queryOptions({
    queryKey: ["changes", id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const changes = new Map<string, string>();
      let isWhole = true;
      let hasBefore = false;
      let pages = 0;
      for await (const page of client.snapshots.diff.pages({ id, limit: treePage }, { signal })) {
        hasBefore = page.from_snapshot_id !== null;
        for (const { path, change } of page.data) changes.set(path, change);
        pages += 1;
        isWhole = !page.has_more;
        if (pages >= maxChangePages) break;
      }
      return { changes, isWhole, hasBefore };
    },
  });

export const versionsQuery = (source: string, path: string) =>
  queryOptions({
    queryKey: ["versions", source, path],
    queryFn: async ({ signal }) => (await client.files.listHistory({ source, path, limit: 25 }, { signal })).data,
  });

export const restoresQuery = queryOptions({
  queryKey: ["restores", "list"],
  queryFn: async ({ signal }) => (await client.restores.list({ limit: 50, sort: "-created_at" }, { signal })).data,
});

export const restoreQuery = (id: string) =>
  queryOptions({ queryKey: ["restores", id], queryFn: ({ signal }) => client.restores.get({ id }, { signal }) });

export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["search", text],
    enabled: text.length >= 2,
    queryFn: async ({ signal }) => (await client.files.search({ query: text, limit: 20 }, { signal })).data,
  });

const listPage = 100;

export const snapshotsQuery = (status: "completed" | "running" | "failed" | null) =>
  infiniteQueryOptions({
    queryKey: ["snapshots", "list", status],
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) =>
      client.snapshots.list(
        {
          ...{ limit: listPage, sort: "-created_at" },
          ...(status !== null && { status }),
          ...(pageParam !== "" && { cursor: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

export interface AuditFilter {
  readonly days: number;
  readonly isFailure: boolean;
  /** Only what this person did. */
  readonly who?: string | undefined;
}

/** The beginning of the first of so many days, today included. */
export const sinceDays = (days: number): string =>
  new Date(`${addDays(today(), 1 - days)}T00:00:00+03:00`).toISOString();

export const auditQuery = ({ days, isFailure, who }: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", days, isFailure, who],
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) =>
      client.audit.listEvents(
        {
          limit: listPage,
          from: sinceDays(days),
          ...(isFailure && { outcome: "failure" as const }),
          ...(who !== undefined && { actor_id: who }),
          ...(pageParam !== "" && { cursor: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: (before, query) => {
      const [, , wasFailure, wasWho] = query?.queryKey ?? [];
      if (before === undefined || wasWho !== who || (wasFailure === true && !isFailure)) return undefined;
      // The newest come first, so what was read of the other list is the beginning of this one.
      const since = Date.parse(sinceDays(days));
      const data = before.pages
        .flatMap((page) => page.data)
        .filter(({ occurred_at: at, outcome }) => Date.parse(at) >= since && (!isFailure || outcome === "failure"));
      return data.length === 0
        ? undefined
        : { pages: [{ data, has_more: false, next_cursor: null }], pageParams: [""] };
    },
  });

export const auditChainQuery = queryOptions({
  queryKey: ["audit", "chain"],
  queryFn: ({ signal }) => client.audit.getChain({}, { signal }),
});

export const auditSharesQuery = queryOptions({
  queryKey: ["audit", "shares"],
  queryFn: ({ signal }) => Array.fromAsync(client.auditShares.list.all({ limit: 100 }, { signal })),
});

/** The newest reads with a share. */
export const shareReadsQuery = (id: string, limit: number) =>
  queryOptions({
    queryKey: ["audit", "reads", id],
    queryFn: async ({ signal }) => (await client.audit.listEvents({ actor_id: id, limit }, { signal })).data,
  });

export const rateLimitsQuery = queryOptions({
  queryKey: ["rate-limits"],
  queryFn: async ({ signal }) => (await client.rateLimits.list({}, { signal })).data,
});

export const webhookQuery = (id: string) =>
  queryOptions({ queryKey: ["webhooks", id], queryFn: ({ signal }) => client.webhooks.get({ id }, { signal }) });

export const webhookStatisticsQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", id, "statistics"],
    queryFn: ({ signal }) => client.webhooks.getStatistics({ id }, { signal }),
  });

export const deliveriesQuery = (id: string, status: "failed" | "delivered" | null) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", id, "deliveries", status],
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) =>
      client.webhooks.listDeliveries(
        { id, limit: 50, ...(status !== null && { status }), ...(pageParam !== "" && { cursor: pageParam }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", "delivery", id],
    queryFn: ({ signal }) => client.webhookDeliveries.get({ id }, { signal }),
  });
