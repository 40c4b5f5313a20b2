import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { isGoodSecret, makeClient, rotateSecret } from "../testing.ts";

const service = await startTestService({ after });
const { auth } = await tokenFor(service);

describe("POST /v1/oauth-clients/{id}/rotate-secret", () => {
  test("a rotation overlaps: both secrets are good until the old one's time is over", async () => {
    const { client, secret: old, target } = await makeClient(service, auth);
    const fresh = String((await rotateSecret(service, target, { overlap_s: 300 }, auth)).json?.secret);
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
    assert.equal((await rotateSecret(service, target, { overlap_s: 0 }, auth)).status, 200);
    assert.ok(!(await isGoodSecret(service, client.id, old)));
    const open = {
      auth_method: "none",
      grant_types: ["authorization_code"],
      redirect_uris: ["https://app.example/cb"],
    };
    const program = await makeClient(service, auth, open);
    const refused = await rotateSecret(service, program.target, { overlap_s: 0 }, auth);
    assert.equal(refused.json?.code, "state_conflict");
  });

  test("428 without If-Match; 412 for the second request with the same version", async () => {
    const { client, secret: old, target } = await makeClient(service, auth);
    const blind = await service.send("POST", `${target}/rotate-secret`, { json: {}, headers: auth });
    assert.deepEqual([blind.status, blind.json?.code], [428, "precondition_required"]);
    const { etag = "" } = (await service.send("GET", target, { headers: auth })).headers;
    const headers = { ...auth, "if-match": etag };
    assert.equal((await rotateSecret(service, target, { overlap_s: 300 }, headers)).status, 200);
    const second = await rotateSecret(service, target, { overlap_s: 0 }, headers);
    assert.deepEqual([second.status, second.json?.code], [412, "precondition_failed"]);
    assert.ok(await isGoodSecret(service, client.id, old), "nothing was ended by the refused ones");
  });
});
