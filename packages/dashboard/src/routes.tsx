/** The addresses of the application. A screen is loaded when it is first opened. */

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { queries } from "./api/client.ts";
import {
  agentsQuery,
  auditChainQuery,
  auditQuery,
  snapshotQuery,
  snapshotsQuery,
  sourcesQuery,
  taxpayerQuery,
  taxpayersQuery,
  vaultsQuery,
} from "./api/queries.ts";
import { sessionState } from "./api/session.ts";
import { NotFound } from "./screens/not-found.tsx";
import { type Filter, filters } from "./screens/taxpayer-rows.ts";
import { Shell } from "./shell/shell.tsx";

/**
 * Reads ahead what a screen shows, while the pointer rests on its link and its code is loaded. Nothing waits for it, and a screen says itself
 * what fails. Only in a session: a page that is just opened does not know yet who is there.
 */
function ahead(read: () => readonly Promise<unknown>[]): void {
  if (sessionState.get() === "in") read();
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("./screens/overview.tsx"), "Overview"),
});

const taxpayers = createRoute({
  getParentRoute: () => root,
  path: "/app/taxpayers",
  loader: () => ahead(() => [queries.prefetchQuery(taxpayersQuery), queries.prefetchQuery(sourcesQuery)]),
  validateSearch: (search: Record<string, unknown>): { state?: Filter; q?: string } => ({
    ...(isFilter(search.state) && search.state !== "all" && { state: search.state }),
    ...(typeof search.q === "string" && search.q !== "" && { q: search.q }),
  }),
  component: lazyRouteComponent(() => import("./screens/taxpayers.tsx"), "Taxpayers"),
});

const taxpayer = createRoute({
  getParentRoute: () => root,
  path: "/app/taxpayers/$id",
  loader: ({ params: { id } }) => ahead(() => [queries.prefetchQuery(taxpayerQuery(id))]),
  component: lazyRouteComponent(() => import("./screens/taxpayer.tsx"), "TaxpayerScreen"),
});

const snapshots = createRoute({
  getParentRoute: () => root,
  path: "/app/snapshots",
  loader: () => ahead(() => [queries.prefetchInfiniteQuery(snapshotsQuery(null)), queries.prefetchQuery(vaultsQuery)]),
  validateSearch: (search: Record<string, unknown>): { status?: string } => texts(search, ["status"]),
  component: lazyRouteComponent(() => import("./screens/snapshots.tsx"), "Snapshots"),
});

const snapshot = createRoute({
  getParentRoute: () => root,
  path: "/app/snapshots/$id",
  loader: ({ params: { id } }) => ahead(() => [queries.prefetchQuery(snapshotQuery(id))]),
  validateSearch: (search: Record<string, unknown>): { path?: string; file?: string } =>
    texts(search, ["path", "file"]),
  component: lazyRouteComponent(() => import("./screens/snapshot.tsx"), "SnapshotScreen"),
});

const restores = createRoute({
  getParentRoute: () => root,
  path: "/app/restores",
  component: lazyRouteComponent(() => import("./screens/restores.tsx"), "Restores"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/app/audit",
  loader: () =>
    ahead(() => [
      queries.prefetchInfiniteQuery(auditQuery({ days: 7, isFailure: false })),
      queries.prefetchQuery(auditChainQuery),
    ]),
  validateSearch: (search: Record<string, unknown>): { days?: string; outcome?: string; who?: string } =>
    texts({ ...search, ...(typeof search.days === "number" && { days: String(search.days) }) }, [
      ...(["days", "outcome", "who"] as const),
    ]),
  component: lazyRouteComponent(() => import("./screens/audit.tsx"), "Audit"),
});

const webhooks = createRoute({
  getParentRoute: () => root,
  path: "/app/webhooks",
  component: lazyRouteComponent(() => import("./screens/webhooks.tsx"), "Webhooks"),
});

const webhook = createRoute({
  getParentRoute: () => root,
  path: "/app/webhooks/$id",
  component: lazyRouteComponent(() => import("./screens/webhook.tsx"), "WebhookScreen"),
});

const sources = createRoute({
  getParentRoute: () => root,
  path: "/app/sources",
  loader: () => ahead(() => [queries.prefetchQuery(sourcesQuery), queries.prefetchQuery(agentsQuery)]),
  validateSearch: (search: Record<string, unknown>): { state?: string; q?: string } => texts(search, ["state", "q"]),
  component: lazyRouteComponent(() => import("./screens/sources.tsx"), "Sources"),
});

const clients = createRoute({
  getParentRoute: () => root,
  path: "/app/clients",
  component: lazyRouteComponent(() => import("./screens/clients.tsx"), "Clients"),
});

/** Open without a session. */
const apply = createRoute({
  getParentRoute: () => root,
  path: "/app/apply",
  component: lazyRouteComponent(() => import("./screens/apply.tsx"), "Apply"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/app/settings",
  validateSearch: (search: Record<string, unknown>): { tab?: string } => texts(search, ["tab"]),
  component: lazyRouteComponent(() => import("./screens/settings.tsx"), "Settings"),
});

const retention = createRoute({
  getParentRoute: () => root,
  path: "/app/retention",
  loader: () => ahead(() => [queries.prefetchQuery(vaultsQuery)]),
  validateSearch: (search: Record<string, unknown>): { vault?: string } => texts(search, ["vault"]),
  component: lazyRouteComponent(() => import("./screens/retention.tsx"), "RetentionScreen"),
});

const staff = createRoute({
  getParentRoute: () => root,
  path: "/app/staff",
  validateSearch: (search: Record<string, unknown>): { tab?: string } => texts(search, ["tab"]),
  component: lazyRouteComponent(() => import("./screens/staff.tsx"), "Staff"),
});

/** Open without a session: for an outside auditor with a share. */
const sharedAudit = createRoute({
  getParentRoute: () => root,
  path: "/app/shared-audit",
  component: lazyRouteComponent(() => import("./screens/shared-audit.tsx"), "SharedAudit"),
});

/** The parameters of these names that are texts. */
function texts<Name extends string>(
  search: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  return found;
}

function isFilter(value: unknown): value is Filter {
  return filters.some((filter) => filter === value);
}

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, taxpayers, taxpayer, snapshots, snapshot, restores, audit, webhooks, webhook],
    ...[sources, clients, apply],
    ...[settings, retention, staff, sharedAudit],
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
