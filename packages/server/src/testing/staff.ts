/** Shared by the tests of staff operations: a service, a staff member, applications, and operations with a reason. */

import assert from "node:assert/strict";
import { tokenFor } from "./accounts.ts";
import type { Cleanup } from "./database.ts";
import { storedRows } from "./rows.ts";
import { type Sent, startTestService, type TestService } from "./running.ts";

export const reason = "test gerekçesi";

export interface StaffBench {
  readonly service: TestService;
  readonly staff: Awaited<ReturnType<typeof tokenFor>>;
  get(target: string): Promise<Sent>;
  /** A change, with a reason unless it has its own. */
  act(target: string, json?: object): Promise<Sent>;
  /** Sends an application; its id. */
  apply(email: string): Promise<string>;
}

export async function startStaffBench(cleanup: Cleanup): Promise<StaffBench> {
  const service = await startTestService(cleanup, { settings: { EMANET_LIMIT_APPLICATIONS: "1000/60" } });
  const staff = await tokenFor(service, { as: "staff" });
  return {
    service,
    staff,
    get: (target) => service.send("GET", `/v1/admin${target}`, { headers: staff.auth }),
    act: (target, json = {}) =>
      service.send("POST", `/v1/admin${target}`, { json: { reason, ...json }, headers: staff.auth }),
    apply: async (email) => {
      const json = {
        ...{ kind: "company", full_name: "Deniz Örnek", email, phone: "05321112233", company_name: "Örnek AŞ" },
        ...{ tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } },
      };
      const answer = await service.send("POST", "/applications", { json });
      assert.equal(answer.status, 202, answer.body.toString());
      return String(answer.json?.id);
    },
  };
}

/** What the audit trail says of an object, oldest first: the act, who, and why. */
export async function auditOf({ database }: TestService, id: unknown): Promise<[string, string, unknown][]> {
  const query = `select action, actor->>'kind' as kind, metadata->>'reason' as reason from emanet.audit_records
    where targets::text like $1 order by seq`;
  const rows = await storedRows<{ action: string; kind: string; reason: unknown }>(database, query, [`%${id}%`]);
  return rows.map((row) => [row.action, row.kind, row.reason]);
}
