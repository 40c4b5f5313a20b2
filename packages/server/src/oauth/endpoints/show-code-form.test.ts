import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startTestService } from "../../testing/running.ts";
import { agentClientId } from "../index.ts";
import { CookieJar, post, roomyLimits, siteOf } from "../testing.ts";

const service = await startTestService({ after }, { settings: roomyLimits });

const site = siteOf(service);

const newCode = async () => {
  const { json } = await post(site, "/oauth2/device_authorization", { client_id: agentClientId });
  return String(json?.user_code);
};

describe("the page for user codes", () => {
  test("a code in the address is filled in and not sent", async () => {
    const code = await newCode();
    const page = await new CookieJar(site).get(`/oauth2/device?user_code=${code}`);
    assert.match(page.body.toString(), new RegExp(`name="user_code"[^>]* value="${code}"`));
    const strange = await new CookieJar(site).get(`/oauth2/device?user_code=${encodeURIComponent('"><script>')}`);
    assert.ok(!strange.body.toString().includes("script>"));
  });
});
