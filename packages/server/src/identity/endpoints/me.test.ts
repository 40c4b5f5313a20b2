import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);
const { auth } = await signInAs(service, demo);

describe("/v1/me", () => {
  test("shows the person, the phone masked", async () => {
    const me = await service.send("GET", "/v1/me", { headers: auth });
    assert.deepEqual([me.json?.role, me.json?.account_id, me.json?.phone], ["owner", demo.account_id, "+90******0000"]);
  });

  test("PATCH changes name and language and nothing else", async () => {
    const json = { full_name: "Ayşe Yeni", language: "en" };
    const changed = await service.send("PATCH", "/v1/me", { json, headers: auth });
    assert.deepEqual([changed.json?.full_name, changed.json?.language], ["Ayşe Yeni", "en"]);
    for (const wrong of [{ email: "x@y.example" }, { role: "owner" }, { phone: "05320000000" }]) {
      assert.equal((await service.send("PATCH", "/v1/me", { json: wrong, headers: auth })).status, 422);
    }
  });
});
