import assert from "node:assert/strict";
import { after, test } from "node:test";
import { enter } from "../../../testing/pages.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the link of a password reset leads to the next page", async () => {
  const { next } = await enter(service, "/reset-password", `pas_${"A".repeat(43)}`);
  assert.equal(next, "/reset-password/new");
});
