import assert from "node:assert/strict";
import { after, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);

test("shows the person, the phone masked; staff too, who have no account", async () => {
  const { auth } = await signInAs(service, demo);
  const me = await service.send("GET", "/v1/me", { headers: auth });
  assert.deepEqual([me.json?.role, me.json?.account_id, me.json?.phone], ["owner", demo.account_id, "+90******0000"]);
  const other = await signInAs(service, staff);
  const theirs = await service.send("GET", "/v1/me", { headers: other.auth });
  assert.deepEqual([theirs.json?.role, theirs.json?.account_id], ["staff", null]);
});
