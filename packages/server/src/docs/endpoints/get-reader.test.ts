import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the frame of the reader has a new nonce in every answer, for styles only, and is not stored", async () => {
  const nonces = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const { headers, body } = await service.send("GET", "/docs/reader");
    const policy = headers["content-security-policy"] ?? "";
    const nonce = /'nonce-([A-Za-z0-9+/=]{24})'/.exec(policy)?.[1] ?? "";
    assert.match(policy, /(?:^|; )script-src 'self'(?:;|$)/);
    assert.ok(body.includes(`<meta property="csp-nonce" content="${nonce}">`));
    assert.equal(headers["cache-control"], "no-store");
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 3);
});

test("the frame has an origin of its own and connects to nothing, also when it is opened by itself", async () => {
  const policy = (await service.send("GET", "/docs/reader")).headers["content-security-policy"] ?? "";
  const [, sandbox = ""] = /(?:^|; )sandbox ([^;]+)/.exec(policy) ?? [];
  assert.ok(sandbox.split(" ").includes("allow-scripts"));
  assert.doesNotMatch(sandbox, /allow-same-origin|allow-top-navigation(?!-by-user-activation)|allow-modals/);
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /connect-src/);
});
