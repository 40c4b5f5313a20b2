import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, sentMessages } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after });

async function waiting() {
  const staff = await tokenFor(service, { as: "staff" });
  const owner = await tokenFor(service);
  const member = await tokenFor(service, { accountId: owner.accountId ?? "", role: "operator" });
  const target = `/v1/admin/members/${member.personId}/reset-second-factor`;
  const asked = await service.send("POST", target, { json: { reason: "telefon kayboldu" }, headers: staff.auth });
  assert.equal(asked.status, 202, asked.body.toString());
  const decide = (decision: string) =>
    service.send("POST", `/v1/members/${member.personId}/second-factor-reset`, {
      json: { decision },
      headers: owner.auth,
    });
  return { member, decide, email: `${member.personId}@test.example` };
}

describe("an owner's decision on a reset", () => {
  test("confirmed, it takes effect at once: sessions end and the link leaves", async () => {
    const { member, decide, email } = await waiting();
    assert.equal((await decide("confirm")).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: member.auth })).status, 401);
    await messageTo(service.dataDir, email, "second_factor_reset");
    assert.equal((await decide("cancel")).status, 404, "nothing waits any more");
  });

  test("canceled, nothing happens, also not after 24 hours", async () => {
    const { decide, email } = await waiting();
    assert.equal((await decide("cancel")).status, 204);
    service.clock.advance(25 * 3600 * 1000);
    const { decide: another, email: marker } = await waiting();
    await another("confirm");
    await messageTo(service.dataDir, marker, "second_factor_reset");
    const sent = (await sentMessages(service.dataDir)).filter((one) => one.to === email);
    const templates = sent.map(({ template }) => template);
    assert.deepEqual(templates, ["second_factor_reset_asked", "second_factor_reset_canceled"], "no link");
  });
});
