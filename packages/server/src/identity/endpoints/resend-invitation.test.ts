import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { messageTo, tokenIn } from "../../testing/outbox.ts";
import { startTestService } from "../../testing/running.ts";

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
