import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startTestService } from "../../testing/running.ts";
import { agentClientId } from "../index.ts";
import { CookieJar, fieldOf, locationOf, post, roomyLimits, siteOf } from "../testing.ts";

const service = await startTestService({ after }, { settings: roomyLimits });

const site = siteOf(service);

const newCode = async () => {
  const { json } = await post(site, "/oauth2/device_authorization", { client_id: agentClientId });
  return String(json?.user_code);
};

const opened = async () => {
  const jar = new CookieJar(site);
  const form = await jar.get("/oauth2/device");
  return { jar, xsrf: fieldOf(form, "xsrf") };
};

describe("the page for user codes", () => {
  test("shows whose code it is, from where and for what, before anything happens", async () => {
    const code = await newCode();
    const { jar, xsrf } = await opened();
    const page = (await jar.post("/oauth2/device", { xsrf, user_code: code })).body.toString();
    for (const shown of [code, "Emanet Agent", "127.0.0.1", "Make backups"]) assert.ok(page.includes(shown));
  });

  test("400: without the page's own token, or with that of another browser", async () => {
    const code = await newCode();
    const { jar } = await opened();
    const { xsrf } = await opened();
    for (const forged of ["", "x", xsrf]) {
      const answer = await jar.post("/oauth2/device", { xsrf: forged, user_code: code, confirm: "yes" });
      assert.equal(answer.status, 400);
      assert.equal(locationOf(answer), "");
    }
  });

  test("400: from a browser without our cookie, or with one that we do not know, whatever the form says", async () => {
    const code = await newCode();
    const forms = [{}, { user_code: code }, { xsrf: "x", user_code: code, confirm: "yes" }, { abort: "yes" }];
    for (const cookie of [undefined, "__Host-oauth-session=unknown"]) {
      for (const form of forms) {
        const body = new URLSearchParams(form).toString();
        const headers = { "content-type": "application/x-www-form-urlencoded", ...(cookie && { cookie }) };
        const answer = await service.send("POST", "/oauth2/device", { body, headers });
        assert.equal(answer.status, 400, answer.body.toString());
        assert.match(answer.headers["content-type"] ?? "", /^text\/html/);
        assert.equal(locationOf(answer), "");
      }
    }
  });

  test("a code that was refused is over", async () => {
    const code = await newCode();
    const { jar, xsrf } = await opened();
    const shown = await jar.post("/oauth2/device", { xsrf, user_code: code });
    const refused = await jar.post("/oauth2/device", { xsrf: fieldOf(shown, "xsrf"), user_code: code, abort: "yes" });
    assert.match(refused.body.toString(), /denied/);
    const again = await opened();
    const second = await again.jar.post("/oauth2/device", { xsrf: again.xsrf, user_code: code });
    assert.match(second.body.toString(), /already used/);
  });
});

test("guessing: five wrong codes in ten minutes from an address, in parallel too, then none is looked at", async () => {
  service.clock.advance(601_000);
  const code = await newCode();
  const browsers = await Promise.all(Array.from({ length: 20 }, () => opened()));
  const answers = await Promise.all(
    browsers.map(({ jar, xsrf }) => jar.post("/oauth2/device", { xsrf, user_code: "BBBB-BBBB" })),
  );
  assert.equal(answers.filter(({ status }) => status !== 429).length, 5);
  const { jar, xsrf } = await opened();
  const refused = await jar.post("/oauth2/device", { xsrf, user_code: code });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "600");
  service.clock.advance(601_000);
  const fresh = await newCode();
  const later = await opened();
  const right = await later.jar.post("/oauth2/device", { xsrf: later.xsrf, user_code: fresh });
  assert.ok(right.body.toString().includes("Emanet Agent"));
});
