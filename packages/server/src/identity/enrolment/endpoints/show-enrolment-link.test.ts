import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, describe, test } from "node:test";
import { enter, invited } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const doors = ["/enrol", "/reset-password", "/withdraw"];

describe("the door that a link leads to", () => {
  test("runs one script, pinned by its hash, loads nothing else, stands in no frame and is never stored", async () => {
    for (const door of doors) {
      const { status, headers, body } = await service.send("GET", door);
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

  test("looking spends nothing: programs that open links ahead of their reader leave them good", async () => {
    const token = await invited(service, { email: "erken@ornek.example" });
    for (const target of ["/enrol", "/enrol?utm_source=mail", `/enrol?link=${token}`]) {
      for (const method of ["GET", "HEAD"]) assert.equal((await service.send(method, target)).status, 200, target);
    }
    // Also those that run the script: opening is a POST, and spends nothing either.
    for (let count = 0; count < 3; count++) {
      const { jar, next } = await enter(service, "/enrol", token);
      assert.equal((await jar.get(next)).status, 200);
    }
    const begun = await service.send("POST", "/v1/enrolment", { json: { token } });
    assert.equal(begun.status, 200);
  });
});
