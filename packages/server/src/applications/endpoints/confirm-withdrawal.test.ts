import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { enter, fieldOf, post, siteOf } from "../../testing/pages.ts";
import { noSignInLimits } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";
import { messageTo, tokenIn } from "../../testing/sent-messages.ts";

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "1000/60" };

const service = await startTestService({ after }, { settings });

const staff = await tokenFor(service, { as: "staff" });

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

async function statusOf(id: string): Promise<unknown> {
  return (await service.send("GET", `/v1/admin/applications/${id}`, { headers: staff.auth })).json?.status;
}

describe("the page that withdraws an application", () => {
  test("asks first, withdraws once, and then says that the link is used", async () => {
    const { id, token, jar, page, csrf } = await apply("geri@ornek.example");
    assert.ok(page.body.includes(id));
    assert.equal(await statusOf(id), "submitted", "looking withdraws nothing");
    const done = await jar.post("/withdraw/confirm", { csrf });
    assert.deepEqual([done.status, await statusOf(id)], [200, "withdrawn"]);
    assert.match(done.body.toString(), /The application is withdrawn/);
    const again = await enter(service, "/withdraw", token);
    assert.equal((await again.jar.get("/withdraw/confirm")).status, 404);
    assert.equal((await again.jar.post("/withdraw/confirm", { csrf })).status, 404);
  });

  test("409: what is decided stays decided, and the page says so", async () => {
    const { id, jar, csrf } = await apply("karar@ornek.example");
    const reason = { json: { reason: "eksik belge" }, headers: staff.auth };
    assert.equal((await service.send("POST", `/v1/admin/applications/${id}/reject`, reason)).status, 200);
    const late = await jar.post("/withdraw/confirm", { csrf });
    assert.equal(late.status, 409);
    assert.match(late.body.toString(), /has been decided/);
  });

  test("names of companies are shown as text; 403: forms of others withdraw nothing", async () => {
    const { id, jar, page, csrf } = await apply("sirket@ornek.example", `<b onmouseover="x">A.Ş.</b>`);
    assert.ok(page.body.includes("&lt;b onmouseover=&quot;x&quot;&gt;A.Ş.&lt;/b&gt;"));
    assert.equal((await jar.post("/withdraw/confirm", { csrf: "x" })).status, 403);
    const headers = { cookie: jar.header, origin: "https://evil.example" };
    assert.equal((await post(siteOf(service), "/withdraw/confirm", { csrf }, headers)).status, 403);
    const fresh = await tokenFor(service, { as: "staff" });
    const now = await service.send("GET", `/v1/admin/applications/${id}`, { headers: fresh.auth });
    assert.equal(now.json?.status, "submitted");
  });
});
