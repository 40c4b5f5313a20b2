import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { readFirstRun } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after });

const invite = (headers: Record<string, string>, json: object) =>
  service.send("POST", "/v1/members", { headers, json });

describe("POST /v1/members", () => {
  test("201: an invitation is mailed with a link that opens the enrolment", async () => {
    const owner = await tokenFor(service);
    const invitation = { email: "yeni@ornek.example", full_name: "Yeni Üye", role: "viewer" };
    const made = await invite(owner.auth, invitation);
    const { email, full_name, role, state } = made.json ?? {};
    assert.deepEqual([made.status, { email, full_name, role }, state], [201, invitation, "invited"]);
    const token = tokenIn(await messageTo(service.dataDir, invitation.email, "enrolment"));
    assert.equal((await service.send("POST", "/v1/enrolment", { json: { token } })).status, 200);
  });

  test("409: an address that this account has already, invited or active, in any spelling", async () => {
    const owner = await tokenFor(service);
    const invitation = { email: "iki@ornek.example", full_name: "İki", role: "viewer" };
    assert.equal((await invite(owner.auth, invitation)).status, 201);
    assert.equal((await invite(owner.auth, { ...invitation, email: "IKI@ornek.example" })).status, 409);
    const own = { ...invitation, email: `${owner.personId}@test.example` };
    assert.equal((await invite(owner.auth, own)).status, 409);
  });

  test("the same 201 and a mail for unknown addresses, for addresses that other accounts invited, and for their members", async () => {
    const { demo, staff } = await readFirstRun(service.dataDir);
    const other = await tokenFor(service);
    const someone = { full_name: "Biri", role: "viewer" };
    assert.equal((await invite(other.auth, { ...someone, email: "baska@ornek.example" })).status, 201);
    const owner = await tokenFor(service);
    const seen = new Set<string>();
    for (const email of ["hic@ornek.example", "baska@ornek.example", demo.email, staff.email]) {
      const { status, json, headers } = await invite(owner.auth, { ...someone, email });
      const again = await service.send("POST", `/v1/members/${json?.id}/resend-invitation`, { headers: owner.auth });
      const bare = (body: typeof json) => ({ ...body, id: "", email: "" });
      const names = Object.keys(headers).sort();
      seen.add(JSON.stringify([status, bare(json), names, again.status, bare(again.json)]));
      await messageTo(service.dataDir, email, "enrolment", email === "baska@ornek.example" ? 3 : 2);
    }
    assert.equal(seen.size, 1, [...seen].join("\n"));
    assert.match([...seen].join(), /^\[201,.*"invited"/);
  });

  test("429: twenty mails in 86 400 seconds per account, also at once; other accounts are not concerned", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    const one = (at: number) => ({ email: `${at}-${accountId}@ornek.example`, full_name: "Biri", role: "viewer" });
    const first = await invite(owner.auth, one(0));
    service.clock.advance(600_000);
    const fresh = await tokenFor(service, { accountId });
    const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => invite(fresh.auth, one(at + 1))));
    assert.equal(answers.filter(({ status }) => status === 201).length, 19);
    const refused = answers.find(({ status }) => status === 429);
    const { code, policy, limit, window, retry_after } = refused?.json ?? {};
    assert.deepEqual([code, policy, limit, window], ["rate_limited", "invitations", 20, 86_400]);
    assert.deepEqual([retry_after, refused?.headers["retry-after"]], [85_800, "85800"]);
    const again = (auth: Record<string, string>) =>
      service.send("POST", `/v1/members/${first.json?.id}/resend-invitation`, { headers: auth });
    assert.equal((await again(fresh.auth)).status, 429, "resends are mails too");
    assert.equal((await invite((await tokenFor(service)).auth, one(40))).status, 201);
    service.clock.advance(85_799_000);
    assert.equal((await again((await tokenFor(service, { accountId })).auth)).status, 429);
    service.clock.advance(1_000);
    const later = await tokenFor(service, { accountId });
    assert.equal((await again(later.auth)).status, 200, "the first has left the window");
    assert.equal((await invite(later.auth, one(41))).status, 429);
  });

  test("403: only owners invite owners, and programs cannot invite", async () => {
    const owner = await tokenFor(service);
    const accountId = owner.accountId ?? "";
    const another = (email: string) => ({ email, full_name: "Sahip", role: "owner" });
    const manager = await tokenFor(service, { accountId, role: "manager" });
    assert.equal((await invite(manager.auth, another("o@ornek.example"))).json?.code, "insufficient_role");
    for (const as of ["client", "grant"] as const) {
      const { auth } = await tokenFor(service, { accountId, as });
      const answer = await invite(auth, { ...another("p@ornek.example"), role: "viewer" });
      assert.equal(answer.json?.code, "insufficient_scope", as);
    }
    const late = await tokenFor(service, { accountId, factorAgeMs: 601_000 });
    assert.equal((await invite(late.auth, another("o@ornek.example"))).json?.code, "step_up_required");
    assert.equal((await invite(owner.auth, another("o@ornek.example"))).status, 201);
  });
});
