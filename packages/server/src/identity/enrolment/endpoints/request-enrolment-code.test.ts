import assert from "node:assert/strict";
import { after, test } from "node:test";
import { invited } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeIn, messageTo } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

test("202: a code goes to the phone that is given; 404: a link that does not exist sends nothing", async () => {
  const token = await invited(service, { email: "kod@ornek.example", role: "owner" });
  const ask = (link: string) =>
    service.send("POST", "/v1/enrolment/phone", { json: { token: link, phone: "0532 111 00 09" } });
  const asked = await ask(token);
  assert.deepEqual([asked.status, asked.json?.expires_in], [202, 300]);
  assert.match(codeIn(await messageTo(service.dataDir, "+905321110009", "otp_code")), /^\d{6}$/);
  assert.equal((await ask(`enr_${"A".repeat(43)}`)).status, 404);
});
