import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startOauth } from "../testing.ts";

const { service } = await startOauth({ after });

test("the keys are public ones for ES256, with nothing private in them", async () => {
  const { json, headers } = await service.send("GET", "/oauth2/jwks");
  const keys = json?.keys as Record<string, string>[];
  assert.ok(keys.length >= 1);
  for (const key of keys) {
    assert.deepEqual(Object.keys(key).sort(), ["alg", "crv", "kid", "kty", "use", "x", "y"]);
  }
  assert.equal(headers["access-control-allow-origin"], "*");
});
