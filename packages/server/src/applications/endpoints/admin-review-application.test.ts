import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act, apply } = await startStaffBench({ after });

test("an application is taken into review once, by name and with a reason", async () => {
  const id = await apply("bir@ornek.example");
  assert.equal((await act(`/applications/${id}/review`)).json?.status, "under_review");
  assert.equal((await act(`/applications/${id}/review`)).status, 409);
  assert.deepEqual((await auditOf(service, id)).at(-1), ["application.review_started", "staff", reason]);
});
