import assert from "node:assert/strict";
import { after, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

test("PATCH changes name and language and nothing else", async () => {
  const { auth } = await signInAs(service, demo);
  const json = { full_name: "Ayşe Yeni", language: "en" };
  const changed = await service.send("PATCH", "/v1/me", { json, headers: auth });
  assert.deepEqual([changed.json?.full_name, changed.json?.language], ["Ayşe Yeni", "en"]);
  for (const wrong of [{ email: "x@y.example" }, { role: "owner" }, { phone: "05320000000" }]) {
    assert.equal((await service.send("PATCH", "/v1/me", { json: wrong, headers: auth })).status, 422);
  }
});
