/** The calls of the audit trail, for `operations.test.ts`. */

import assert from "node:assert/strict";
import type { EmanetClient } from "../../sdks/typescript/src/index.ts";

export function auditCalls(
  owner: () => Promise<EmanetClient>,
  staff: () => Promise<EmanetClient>,
): Readonly<Record<string, () => Promise<unknown>>> {
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
    "audit.resumeExport": async () => {
      const client = await owner();
      await (await client.audit.export({})).text();
      const { data } = await client.audit.listEvents({ action: "audit.exported" });
      return (await client.audit.resumeExport({ id: data[0]?.targets[0]?.id ?? assert.fail("no export") })).text();
    },
  };
}
