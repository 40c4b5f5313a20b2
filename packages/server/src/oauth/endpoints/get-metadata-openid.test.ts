import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the metadata is where OpenID clients look too, for any origin", async () => {
  const here = await service.send("GET", "/oauth2/.well-known/openid-configuration");
  const issuer = await service.send("GET", "/oauth2/.well-known/oauth-authorization-server");
  assert.deepEqual([here.status, here.json], [200, issuer.json]);
  assert.equal(here.headers["access-control-allow-origin"], "*");
});
