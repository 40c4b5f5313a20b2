import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf } from "../../testing/pages.ts";
import { noSignInLimits } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";
import { messageTo, tokenIn } from "../../testing/sent-messages.ts";

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "1000/60" };

const service = await startTestService({ after }, { settings });

async function apply(email: string, company_name = "Örnek Büro") {
  const json = {
    ...{ kind: "company", full_name: "Ayşe Örnek", email, phone: "0532 000 00 00", company_name },
    ...{ tax_id: "1234567808", package: "corporate", consents: { terms: true, privacy: true } },
  };
  const id = String((await service.send("POST", "/applications", { json })).json?.id);
  const token = tokenIn(await messageTo(service.dataDir, email, "application_received"));
  const { jar } = await enter(service, "/withdraw", token);
  const page = await jar.get("/withdraw/confirm");
  return { id, token, jar, page, csrf: fieldOf(page, "csrf") };
}

describe("the page that withdraws an application", () => {
  test("404: a link ends after thirty days", async () => {
    const { jar } = await apply("ay@ornek.example");
    service.clock.advance(30 * 24 * 3600 * 1000);
    assert.equal((await jar.get("/withdraw/confirm")).status, 404);
  });
});
