import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

test("lists the person's own sessions only, newest first", async () => {
  const one = await signInAs(service, demo);
  await signInAs(service, demo, { client: "api" });
  await tokenFor(service, { accountId: demo.account_id, role: "viewer" });
  const list = await service.send("GET", "/v1/sessions", { headers: one.auth });
  assert.deepEqual(
    listIn<{ current: boolean; kind: string }>(list, "data").map(({ kind, current }) => [kind, current]),
    [
      ["api", false],
      ["dashboard", true],
    ],
  );
});
