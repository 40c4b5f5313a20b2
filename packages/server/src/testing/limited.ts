/**
 * Endpoints that only tests have, one for each limit whose operation comes later (snapshots, restores, the audit's
 * export), and a resource to read.
 */

import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../kernel/http/schema.ts";
import type { PolicyName } from "../kernel/limits/policies.ts";

const ok = closed({ ok: Type.Boolean() }, { title: "TestOk" });
const common = { tag: "health", summary: "For tests", description: "For tests." } as const;

function limited(id: string, method: "GET" | "POST", path: string, limits: readonly PolicyName[]): Endpoint {
  const access = { kind: "account", scope: "account:read" } as const;
  const replies = { 200: { description: "Counted.", body: ok } };
  return endpoint({ ...common, id, method, path, access, limits, replies }, async () => ({
    status: 200,
    body: { ok: true },
  }));
}

export const limitedEndpoints: readonly Endpoint[] = [
  limited("test_snapshots.list", "GET", "/v1/test-snapshots", ["snapshots_list"]),
  limited("test_snapshots.create", "POST", "/v1/test-snapshots", ["snapshots_create", "snapshots_create_hour"]),
  limited("test_restores.create", "POST", "/v1/test-restores", ["restore_create"]),
  limited("test_audit.export", "GET", "/v1/test-audit-export", ["audit_export"]),
  endpoint(
    {
      ...common,
      id: "test_things.get",
      method: "GET",
      path: "/v1/test-things/{id}",
      access: { kind: "account", scope: "account:read" },
      params: closed({ id: uuid("Id.") }),
      replies: { 200: { description: "There.", body: ok } },
    },
    async () => ({ status: 200, body: { ok: true } }),
  ),
];
