import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

describe("DELETE /v1/sessions/{id}", () => {
  test("ending a session counts at once and touches no other", async () => {
    const one = await signInAs(service, demo);
    const other = await signInAs(service, demo, { client: "api" });
    const list = await service.send("GET", "/v1/sessions", { headers: one.auth });
    const ended = listIn<{ id: string; current: boolean }>(list, "data").find(({ current }) => !current)?.id;
    assert.equal((await service.send("DELETE", `/v1/sessions/${ended}`, { headers: one.auth })).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401);
    assert.equal((await service.send("GET", "/v1/me", { headers: one.auth })).status, 200);
    assert.equal((await service.send("DELETE", `/v1/sessions/${ended}`, { headers: one.auth })).status, 404);
  });

  test("404: a session of a colleague", async () => {
    const colleague = await tokenFor(service, { accountId: demo.account_id, role: "viewer" });
    const { auth } = await signInAs(service, demo);
    assert.equal((await service.send("DELETE", `/v1/sessions/${colleague.sessionId}`, { headers: auth })).status, 404);
  });
});
