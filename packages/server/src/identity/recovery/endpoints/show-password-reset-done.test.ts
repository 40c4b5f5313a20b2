import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the page after a new password says that the second factor is still asked for", async () => {
  const page = await service.send("GET", "/reset-password/done");
  assert.equal(page.status, 200);
  assert.match(page.body.toString(), /second factor, which is unchanged/);
});
