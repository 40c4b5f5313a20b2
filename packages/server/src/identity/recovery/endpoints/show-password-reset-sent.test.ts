import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the page after asking says where to look", async () => {
  const page = await service.send("GET", "/reset-password/sent");
  assert.equal(page.status, 200);
  assert.match(page.body.toString(), /Check your mailbox/);
});
