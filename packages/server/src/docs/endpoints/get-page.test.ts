import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("an ETag that the client has gets 304 and no body", async () => {
  for (const path of ["/docs/guides/sign-in", "/docs/json", "/docs/yaml", "/docs/errors"]) {
    const first = await service.send("GET", path);
    const again = await service.send("GET", path, { headers: { "if-none-match": first.headers.etag ?? "" } });
    assert.deepEqual([first.status, again.status, again.body.length], [200, 304, 0]);
    assert.equal(again.headers.etag, first.headers.etag);
  }
});

test("the reference has a new nonce in every answer, for styles only, and is not stored", async () => {
  const nonces = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const { headers, body } = await service.send("GET", "/docs");
    const policy = headers["content-security-policy"] ?? "";
    const nonce = /'nonce-([A-Za-z0-9+/=]{24})'/.exec(policy)?.[1] ?? "";
    assert.match(policy, /(?:^|; )script-src 'self'(?:;|$)/);
    assert.ok(body.includes(`<meta property="csp-nonce" content="${nonce}">`));
    assert.equal(headers["cache-control"], "no-store");
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 3);
});
