import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, describe, test } from "node:test";
import { enter, invited } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const landingPages = ["/enrol", "/reset-password", "/withdraw"];

describe("the link landing page", () => {
  test("runs one script, pinned by its hash, loads nothing else, cannot be framed and is never stored", async () => {
    for (const landingPage of landingPages) {
      const { status, headers, body } = await service.send("GET", landingPage);
      const [, script = ""] = /<script>([\s\S]*)<\/script>/.exec(body.toString()) ?? [];
      const hash = createHash("sha256").update(script).digest("base64");
      assert.equal(status, 200);
      const policy = headers["content-security-policy"] ?? "";
      assert.ok(policy.startsWith(`default-src 'none'; script-src 'sha256-${hash}'; style-src 'self'`), policy);
      assert.ok(policy.includes("frame-ancestors 'none'") && !policy.includes("unsafe"));
      assert.deepEqual([headers["cache-control"], headers["x-frame-options"]], ["no-store", "DENY"]);
      assert.equal(headers["referrer-policy"], "same-origin");
      assert.equal(body.toString().split("<script").length, 2);
    }
  });

  test("a GET does not use up the link, so programs may open it before its reader", async () => {
    const token = await invited(service, { email: "erken@ornek.example" });
    for (const target of ["/enrol", "/enrol?utm_source=mail", `/enrol?link=${token}`]) {
      for (const method of ["GET", "HEAD"]) assert.equal((await service.send(method, target)).status, 200, target);
    }
    // Also programs that run the script: the POST that opens the link does not use it up either.
    for (let count = 0; count < 3; count++) {
      const { jar, next } = await enter(service, "/enrol", token);
      assert.equal((await jar.get(next)).status, 200);
    }
    const begun = await service.send("POST", "/v1/enrolment", { json: { token } });
    assert.equal(begun.status, 200);
  });
});
