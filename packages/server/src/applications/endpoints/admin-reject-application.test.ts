import assert from "node:assert/strict";
import { after, test } from "node:test";
import { messageTo } from "../../testing/sent-messages.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, staff, act, apply } = await startStaffBench({ after });

test("the applicant gets the reason by mail; 422 without a reason, 404 for an unknown application; it is in the audit trail", async () => {
  const id = await apply("uc@ornek.example");
  const bare = { json: {}, headers: staff.auth };
  assert.equal((await service.send("POST", `/v1/admin/applications/${id}/reject`, bare)).status, 422);
  assert.equal((await act("/applications/0199c0de-0000-7000-8000-00000000dead/reject")).status, 404);
  assert.equal((await act(`/applications/${id}/reject`)).json?.status, "rejected");
  assert.ok((await messageTo(service.dataDir, "uc@ornek.example", "application_rejected")).text.includes(reason));
  assert.deepEqual((await auditOf(service, id)).at(-1), ["application.rejected", "staff", reason]);
  assert.equal((await act(`/applications/${id}/approve`)).status, 409);
});
