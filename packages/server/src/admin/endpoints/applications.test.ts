import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { readFirstRun } from "../../testing/people.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });
const staff = await tokenFor(service, { as: "staff" });
const { demo } = await readFirstRun(service.dataDir);

async function apply(email: string): Promise<string> {
  const answer = await service.send("POST", "/applications", {
    json: {
      ...{ kind: "company", full_name: "Deniz Örnek", email, phone: "05321112233", company_name: "Örnek AŞ" },
      ...{ tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } },
    },
  });
  return String(answer.json?.id);
}

async function decide(id: string, verb: string) {
  return service.send("POST", `/v1/admin/applications/${id}/${verb}`, {
    json: { reason: "test gerekçesi" },
    headers: staff.auth,
  });
}

describe("/v1/admin/applications", () => {
  test("staff read applications with the tax number masked, and filter by state", async () => {
    const id = await apply("bir@ornek.example");
    const read = await service.send("GET", `/v1/admin/applications/${id}`, { headers: staff.auth });
    assert.deepEqual([read.json?.status, read.json?.tax_id], ["submitted", "******7808"]);
    const list = await service.send("GET", "/v1/admin/applications?status=submitted", { headers: staff.auth });
    assert.ok(listIn<{ id: string }>(list, "data").some((one) => one.id === id));
  });

  test("of two decisions at once one counts, and one account is made", async () => {
    const id = await apply("iki@ornek.example");
    const answers = await Promise.all(["approve", "approve", "reject"].map((verb) => decide(id, verb)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
    const accounts = await storedRows(service.database, "select id from emanet.accounts where application_id = $1", [
      id,
    ]);
    const approved = answers.slice(0, 2).some(({ status }) => status === 200);
    assert.equal(accounts.length, approved ? 1 : 0);
  });

  test("409: an address that signs in here already; nothing of the approval stays", async () => {
    const id = await apply(demo.email);
    assert.equal((await decide(id, "approve")).status, 409);
    const read = await service.send("GET", `/v1/admin/applications/${id}`, { headers: staff.auth });
    assert.equal(read.json?.status, "submitted");
    assert.deepEqual(
      await storedRows(service.database, "select id from emanet.accounts where application_id = $1", [id]),
      [],
    );
  });

  test("422 without a reason, 404 for what does not exist, and every decision is in the audit trail", async () => {
    const id = await apply("uc@ornek.example");
    const bare = await service.send("POST", `/v1/admin/applications/${id}/reject`, { json: {}, headers: staff.auth });
    assert.equal(bare.status, 422);
    assert.equal((await decide("0199c0de-0000-7000-8000-00000000dead", "reject")).status, 404);
    await decide(id, "review");
    await decide(id, "reject");
    const rows = await storedRows<{ action: string; actor: { id: string }; metadata: { reason: string } }>(
      service.database,
      "select action, actor, metadata from emanet.audit_records where targets::text like $1 and chain = 'platform' order by seq",
      [`%${id}%`],
    );
    const acts = rows.slice(1);
    assert.deepEqual(
      acts.map(({ action }) => action),
      ["application.review_started", "application.rejected"],
    );
    assert.ok(acts.every(({ actor, metadata }) => actor.id === staff.personId && metadata.reason === "test gerekçesi"));
  });
});
