import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });

test("the page of the first sign-in asks for password and code", async () => {
  const page = await service.send("GET", "/enrol/sign-in");
  assert.equal(page.status, 200);
  assert.match(page.body.toString(), /name="password"[\s\S]*name="totp_code"/);
});
