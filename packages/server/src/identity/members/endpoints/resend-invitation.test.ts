import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after });

test("a new link is mailed, and the one of the earlier mail ends; 409 for who has enrolled", async () => {
  const owner = await tokenFor(service);
  const email = "tekrar@ornek.example";
  const json = { email, full_name: "Tekrar", role: "viewer" };
  const made = await service.send("POST", "/v1/members", { json, headers: owner.auth });
  const first = tokenIn(await messageTo(service.dataDir, email, "enrolment"));
  const again = (id: unknown) => service.send("POST", `/v1/members/${id}/resend-invitation`, { headers: owner.auth });
  assert.equal((await again(made.json?.id)).status, 200);
  const second = tokenIn(await messageTo(service.dataDir, email, "enrolment", 2));
  const opens = async (token: string) => (await service.send("POST", "/v1/enrolment", { json: { token } })).status;
  assert.deepEqual([await opens(first), await opens(second)], [404, 200]);
  assert.equal((await again(owner.personId)).json?.code, "state_conflict");
});

test("429: once an hour per address; removing and inviting again counts as a resend", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const fresh = async () => (await tokenFor(service, { accountId })).auth;
  const invite = async (email: string) => {
    const json = { email, full_name: "Tekrar", role: "viewer" };
    return service.send("POST", "/v1/members", { json, headers: await fresh() });
  };
  const again = async (id: unknown) =>
    service.send("POST", `/v1/members/${id}/resend-invitation`, { headers: await fresh() });
  const { json } = await invite("saatlik@ornek.example");
  assert.equal((await again(json?.id)).status, 200);
  service.clock.advance(1_800_000);
  const refused = await again(json?.id);
  assert.deepEqual([refused.json?.code, refused.json?.policy], ["rate_limited", "invitation_resends"]);
  assert.equal(refused.headers["retry-after"], "1800");
  assert.equal((await again((await invite("baskasi@ornek.example")).json?.id)).status, 200, "per address");
  service.clock.advance(1_800_000);
  assert.equal((await again(json?.id)).status, 200);
  const gone = await service.send("DELETE", `/v1/members/${json?.id}`, { headers: await fresh() });
  assert.equal(gone.status, 204, gone.body.toString());
  assert.equal((await invite("saatlik@ornek.example")).status, 429);
  service.clock.advance(3_600_000);
  assert.equal((await invite("saatlik@ornek.example")).status, 201);
});
