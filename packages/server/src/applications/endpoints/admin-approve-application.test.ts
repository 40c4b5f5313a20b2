import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { invited } from "../../testing/pages.ts";
import { readFirstRun } from "../../testing/people.ts";
import { storedRows } from "../../testing/rows.ts";
import { messageTo, tokenIn } from "../../testing/sent-messages.ts";
import { auditOf, reason, startStaffBench } from "../../testing/staff.ts";

const { service, act, apply, get } = await startStaffBench({ after });

const accountsOf = (applicationId: string) =>
  storedRows(service.database, "select id from emanet.accounts where application_id = $1", [applicationId]);

describe("POST /v1/admin/applications/{id}/approve", () => {
  test("makes an account and its owner, mails the link, and is in both audit trails", async () => {
    const id = await apply("bir@ornek.example");
    const approved = await act(`/applications/${id}/approve`);
    assert.equal(approved.status, 200, approved.body.toString());
    assert.equal((await accountsOf(id)).length, 1);
    await messageTo(service.dataDir, "bir@ornek.example", "enrolment");
    assert.deepEqual((await auditOf(service, id)).at(-1), ["application.approved", "staff", reason]);
    assert.equal((await auditOf(service, approved.json?.account_id))[0]?.[0], "account.created");
  });

  test("of decisions at once one counts, and at most one account is made", async () => {
    const id = await apply("iki@ornek.example");
    const answers = await Promise.all(
      ["approve", "approve", "reject"].map((verb) => act(`/applications/${id}/${verb}`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
    const approved = answers.slice(0, 2).some(({ status }) => status === 200);
    assert.equal((await accountsOf(id)).length, approved ? 1 : 0);
  });

  test("an invitation of another account is no obstacle: the address belongs to the one who enrols first", async () => {
    const email = "davetli@ornek.example";
    const other = await invited(service, { email });
    const id = await apply(email);
    assert.equal((await act(`/applications/${id}/approve`)).status, 200);
    const own = tokenIn(await messageTo(service.dataDir, email, "enrolment", 2));
    for (const token of [other, own]) {
      const opened = await service.send("POST", "/v1/enrolment", { json: { token } });
      assert.deepEqual([opened.status, opened.json?.email], [200, email]);
    }
  });

  test("409: an address that signs in here already; nothing of the approval stays", async () => {
    const { demo } = await readFirstRun(service.dataDir);
    const id = await apply(demo.email);
    assert.equal((await act(`/applications/${id}/approve`)).status, 409);
    assert.equal((await get(`/applications/${id}`)).json?.status, "submitted");
    assert.deepEqual(await accountsOf(id), []);
  });
});
