/** The calls of the audit trail, for `operations.test.ts`. */

import assert from "node:assert/strict";
import type { TestService } from "../../packages/server/src/testing/running.ts";
import { bearerToken, type EmanetClient } from "../../sdks/typescript/src/index.ts";
import { clientOf } from "./connect.ts";

const newShare = { label: "Denetim", filter: { action: "audit.*" }, days: 7 };

export function auditCalls(
  owner: () => Promise<EmanetClient>,
  staff: () => Promise<EmanetClient>,
  service: TestService,
): Readonly<Record<string, () => Promise<unknown>>> {
  const auditor = async () => {
    const { token } = await (await owner()).auditShares.create({ body: newShare });
    return clientOf(service, { credentials: bearerToken(token) });
  };
  return {
    "audit.listEvents": async () => (await owner()).audit.listEvents({ action: "member.*" }),
    "audit.getChain": async () => (await owner()).audit.getChain(),
    "audit.export": async () => (await (await owner()).audit.export({ format: "csv" })).text(),
    "admin.exportAudit": async () => (await (await staff()).admin.exportAudit({ format: "cef" })).text(),
    "admin.getAuditChain": async () => (await staff()).admin.getAuditChain({ chain: "platform" }),
    "admin.resumeAuditExport": async () => {
      const client = await staff();
      await (await client.admin.exportAudit({})).text();
      const { data } = await client.admin.listAudit({ action: "audit.exported", chain: "platform" });
      return (await client.admin.resumeAuditExport({ id: data[0]?.targets[0]?.id ?? assert.fail("no export") })).text();
    },
    "auditShares.create": async () => (await owner()).auditShares.create({ body: newShare }),
    "auditShares.list": async () => (await owner()).auditShares.list({ limit: 5 }),
    "auditShares.get": async () => {
      const client = await owner();
      return client.auditShares.get({ id: (await client.auditShares.create({ body: newShare })).id });
    },
    "auditShares.revoke": async () => {
      const client = await owner();
      return client.auditShares.revoke({ id: (await client.auditShares.create({ body: newShare })).id });
    },
    "auditShared.listEvents": async () => (await auditor()).auditShared.listEvents({ action: "audit.*" }),
    "auditShared.export": async () => (await (await auditor()).auditShared.export({ format: "json" })).text(),
    "audit.resumeExport": async () => {
      const client = await owner();
      await (await client.audit.export({})).text();
      const { data } = await client.audit.listEvents({ action: "audit.exported" });
      return (await client.audit.resumeExport({ id: data[0]?.targets[0]?.id ?? assert.fail("no export") })).text();
    },
  };
}
