/** Compares what the calls of all operations have written into the audit trail with the table that the documentation is made from. */

import assert from "node:assert/strict";
import { refusedAction, writtenActions } from "../../packages/server/src/audit/index.ts";
import { endpoints } from "../../packages/server/src/endpoints.ts";
import { showsPage } from "../../packages/server/src/kernel/http/endpoint.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import type { TestService } from "../../packages/server/src/testing/running.ts";

export async function checkRecords({ database }: TestService): Promise<void> {
  const rows = await storedRows<{ operation: string; action: string }>(
    database,
    "select distinct context->>'operation' as operation, action from emanet.audit_records where context ? 'operation'",
  );
  const seen = Map.groupBy(rows, ({ operation }) => operation);
  for (const { spec } of endpoints) {
    // The client has no pages. They run the same acts as its operations.
    if (showsPage(spec) || spec.wire !== undefined) continue;
    const promised = writtenActions[spec.id] ?? [];
    const isSilent = "nothing" in promised || !(spec.id in writtenActions);
    const allowed = "nothing" in promised ? (promised.sometimes ?? []) : promised;
    const found = (seen.get(spec.id) ?? []).map(({ action }) => action).filter((action) => action !== refusedAction);
    assert.deepEqual(
      found.filter((action) => !allowed.includes(action)),
      [],
      `${spec.id} writes what recorded-actions.ts does not say`,
    );
    if (!isSilent) assert.ok(found.length > 0, `${spec.id} has written nothing`);
  }
}
