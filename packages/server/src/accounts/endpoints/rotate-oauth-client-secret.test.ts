import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { isGoodSecret, makeClient } from "../testing.ts";

const service = await startTestService({ after });
const { auth } = await tokenFor(service);

describe("POST /v1/oauth-clients/{id}/rotate-secret", () => {
  test("a rotation overlaps: both secrets are good until the old one's time is over", async () => {
    const { client, secret: old, target } = await makeClient(service, auth);
    const call = { json: { overlap_s: 300 }, headers: auth };
    const fresh = String((await service.send("POST", `${target}/rotate-secret`, call)).json?.secret);
    const good = async () => [
      await isGoodSecret(service, client.id, old),
      await isGoodSecret(service, client.id, fresh),
    ];
    assert.deepEqual(await good(), [true, true]);
    service.clock.advance(301_000);
    assert.deepEqual(await good(), [false, true]);
  });

  test("without an overlap the old secret ends at once; 409 for a program that has none", async () => {
    const { client, secret: old, target } = await makeClient(service, auth);
    const call = { json: { overlap_s: 0 }, headers: auth };
    assert.equal((await service.send("POST", `${target}/rotate-secret`, call)).status, 200);
    assert.ok(!(await isGoodSecret(service, client.id, old)));
    const open = {
      auth_method: "none",
      grant_types: ["authorization_code"],
      redirect_uris: ["https://app.example/cb"],
    };
    const program = await makeClient(service, auth, open);
    assert.equal((await service.send("POST", `${program.target}/rotate-secret`, call)).json?.code, "state_conflict");
  });
});
