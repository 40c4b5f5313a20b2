/** What the staff's screen reads: all accounts, never names of files. */

import { infiniteQueryOptions } from "@tanstack/react-query";
import { client } from "./client.ts";

interface Page {
  readonly next_cursor: string | null;
}

interface PageOf {
  readonly cursor?: string;
  readonly limit: number;
}

const pageSize = 50;

/** A list of the staff, page by page. */
function list<P extends Page>(key: readonly unknown[], read: (page: PageOf, signal: AbortSignal) => Promise<P>) {
  return infiniteQueryOptions({
    queryKey: ["staff", ...key],
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) =>
      read({ limit: pageSize, ...(pageParam !== "" && { cursor: pageParam }) }, signal),
    getNextPageParam: (page: P) => page.next_cursor ?? undefined,
  });
}

export const applicationsQuery = list(["applications"], (page, signal) =>
  client.admin.listApplications(page, { signal }),
);

export const accountsQuery = (state: "active" | "suspended" | null) =>
  list(["accounts", state], (page, signal) =>
    client.admin.listAccounts({ ...page, ...(state !== null && { state }) }, { signal }),
  );

export const membersQuery = list(["members"], (page, signal) => client.admin.listMembers(page, { signal }));

export const requestsQuery = list(["requests"], (page, signal) => client.admin.listLimitRequests(page, { signal }));

export const bansQuery = list(["bans"], (page, signal) =>
  client.admin.listBans({ ...page, state: "active" }, { signal }),
);

export const jobsQuery = (state: "failed" | null) =>
  list(["jobs", state], (page, signal) =>
    client.admin.listJobs({ ...page, ...(state !== null && { state }) }, { signal }),
  );

export interface RecordsFilter {
  readonly outcome?: "failure";
  readonly account_id?: string;
  readonly action?: string;
}

export const recordsQuery = (filter: RecordsFilter) =>
  list(["audit", filter], (page, signal) => client.admin.listAudit({ ...page, ...filter }, { signal }));
