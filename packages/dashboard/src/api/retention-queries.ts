/** What the screen of retention reads. */

import { queryOptions } from "@tanstack/react-query";
import { client } from "./client.ts";

/** The policy with its ETag: a change is made only if nobody else made one meanwhile. */
export const retentionQuery = (vaultId: string) =>
  queryOptions({
    queryKey: ["retention", vaultId],
    queryFn: async ({ signal }) => {
      const { data, etag } = await client.vaults.getRetention.answer({ id: vaultId }, { signal });
      return { policy: data, etag: etag ?? "" };
    },
  });

export const pendingActsQuery = queryOptions({
  queryKey: ["pending-acts"],
  queryFn: ({ signal }) => Array.fromAsync(client.pendingActs.list.all({ limit: 100, state: "waiting" }, { signal })),
});
