import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the page that asks for a new password asks for the address and nothing else", async () => {
  const page = await service.send("GET", "/reset-password/request");
  assert.equal(page.status, 200);
  assert.match(page.body.toString(), /name="email"/);
});
