import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const { demo } = await readFirstRun(service.dataDir);

describe("/v1/me/phone", () => {
  test("422: what is no Turkish mobile", async () => {
    const { auth } = await signInAs(service, demo);
    const answer = await service.send("POST", "/v1/me/phone", { json: { phone: "0212 111 22 33" }, headers: auth });
    assert.equal(answer.status, 422);
  });
});
