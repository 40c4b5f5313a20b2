import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf, invited } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { type Sent, startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

/** The key as the page shows it, typed in by hand. */
function secretOn(page: Sent): string {
  const shown = /<code class="secret">([^<]+)</.exec(page.body.toString())?.[1] ?? assert.fail("no key is shown");
  return shown.replaceAll(" ", "");
}

async function begin(email: string, more: { role?: string; full_name?: string } = {}) {
  const token = await invited(service, { email, ...more });
  const { jar } = await enter(service, "/enrol", token);
  const page = await jar.get("/enrol/setup");
  const csrf = fieldOf(page, "csrf");
  return { token, jar, page, csrf, secret: page.status === 200 ? secretOn(page) : "" };
}

describe("the page that sets up access", () => {
  test("names of people are shown as text", async () => {
    const full_name = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
    const { page } = await begin("xss@ornek.example", { full_name });
    const html = page.body.toString();
    assert.ok(!/<script|<img src=x/.test(html));
    assert.ok(html.includes("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert.ok(!/script-src|unsafe/.test(page.headers["content-security-policy"] ?? ""));
  });
});
