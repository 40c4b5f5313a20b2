/** What the settings read, besides what other screens read too. */

import { queryOptions } from "@tanstack/react-query";
import { today } from "../format.ts";
import { now } from "../platform.ts";
import { client } from "./client.ts";

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) => Array.fromAsync(client.members.list.all({ limit: 100 }, { signal })),
});

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }) => Array.fromAsync(client.sessions.list.all({ limit: 100 }, { signal })),
});

/** What each vault stores now, and when its quota is reached. */
export const vaultUsageQuery = queryOptions({
  queryKey: ["usage", "vaults"],
  queryFn: ({ signal }) => Array.fromAsync(client.usage.list.all({ from: today(), limit: 100 }, { signal })),
});

export const limitRequestsQuery = queryOptions({
  queryKey: ["limit-requests"],
  queryFn: async ({ signal }) => (await client.rateLimits.listRequests({ limit: 20 }, { signal })).data,
});

/** Resets take effect after 24 hours; an hour more for records that come late. */
const resetHours = 25;
const hourMs = 3_600_000;

export interface WaitingReset {
  readonly personId: string;
  readonly askedAt: string;
}

/** Resets of second factors that wait for an owner: asked for, and neither done nor canceled. The audit trail has them. */
export const waitingResetsQuery = queryOptions({
  queryKey: ["members", "resets"],
  queryFn: async ({ signal }): Promise<readonly WaitingReset[]> => {
    const from = new Date(now() - resetHours * hourMs).toISOString();
    const records = await Array.fromAsync(
      client.audit.listEvents.all({ action: "second_factor.*", from, limit: 100 }, { signal }),
    );
    const idOf = ({ metadata }: (typeof records)[number]) => String(metadata.reset_id);
    const asked = records.filter(({ action }) => action === "second_factor.reset_requested");
    const decided = new Set(records.filter((record) => !asked.includes(record)).map(idOf));
    return asked
      .filter((record) => !decided.has(idOf(record)))
      .map(({ targets, occurred_at: askedAt }) => ({ personId: targets[0]?.id ?? "", askedAt }));
  },
});
