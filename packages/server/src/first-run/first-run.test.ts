import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { testDatabase } from "../testing/database.ts";
import { listIn } from "../testing/lists.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../testing/people.ts";
import { startTestService } from "../testing/running.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";

describe("the first start", () => {
  test("writes who can sign in, for its owner's eyes alone; a restart keeps the secrets and renews the address", async (t) => {
    const kept = { database: await testDatabase(t), dataDir: await temporaryFolder(t) };
    const first = await startTestService(t, { ...kept, settings: noSignInLimits });
    const file = await readFirstRun(kept.dataDir);
    assert.equal((await stat(path.join(kept.dataDir, "first-run.json"))).mode & 0o777, 0o600);
    assert.deepEqual(Object.keys(file).sort(), ["base_url", "ca_file", "demo", "staff"]);
    assert.deepEqual(Object.keys(file.staff).sort(), ["email", "password", "totp_secret"]);
    const demoFields = "account_id client_id client_secret email package password totp_secret".split(" ");
    assert.deepEqual(Object.keys(file.demo).sort(), demoFields);
    assert.deepEqual([file.base_url, file.demo.package], [first.url, "corporate"]);
    await first.running.stop();

    const again = await startTestService(t, { ...kept, settings: noSignInLimits, clock: first.clock });
    const { base_url: renewed, ...rest } = await readFirstRun(kept.dataDir);
    const { base_url: _before, ...before } = file;
    assert.deepEqual(rest, before);
    assert.equal(renewed, again.url);
    for (const login of [file.staff, file.demo]) await signInAs(again, login);
    await again.running.stop();
  });

  test("the demo account has the API and enforced limits, and its client every scope", async (t) => {
    const service = await startTestService(t, { settings: noSignInLimits });
    const { demo } = await readFirstRun(service.dataDir);
    const { auth } = await signInAs(service, demo);
    const account = await service.send("GET", "/v1/account", { headers: auth });
    assert.deepEqual(
      [account.json?.id, account.json?.early_access, account.json?.entitlements],
      [demo.account_id, false, ["api"]],
    );
    const client = await service.send("GET", `/v1/oauth-clients/${demo.client_id}`, { headers: auth });
    assert.equal(listIn<string>(client, "scopes").length, 12);
  });
});
