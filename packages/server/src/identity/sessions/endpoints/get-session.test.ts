import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);
const read = (id: string, headers: Record<string, string>) => service.send("GET", `/v1/sessions/${id}`, { headers });

describe("GET /v1/sessions/{id}", () => {
  test("shows one of the person's own sessions; its ETag does not depend on which of them asks", async () => {
    const { auth } = await signInAs(service, demo);
    const list = await service.send("GET", "/v1/sessions", { headers: auth });
    const [{ id } = assert.fail("no session")] = listIn<{ id: string }>(list, "data");
    const own = await read(id, auth);
    assert.deepEqual([own.status, own.json?.id, own.json?.current], [200, id, true]);
    const other = await signInAs(service, demo);
    const seen = await read(id, other.auth);
    assert.deepEqual([seen.status, seen.json?.current, seen.headers.etag], [200, false, own.headers.etag]);
  });

  test("404: a session of another person, and one that has ended", async () => {
    const one = await tokenFor(service);
    const colleague = await tokenFor(service, { accountId: one.accountId ?? "", role: "viewer" });
    assert.equal((await read(colleague.sessionId, one.auth)).status, 404);
    const ended = await service.send("DELETE", `/v1/sessions/${colleague.sessionId}`, { headers: colleague.auth });
    assert.equal(ended.status, 204);
    assert.equal((await read(colleague.sessionId, one.auth)).status, 404);
  });
});
