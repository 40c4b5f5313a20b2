import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the metadata is where RFC 8414 puts it too, for any origin", async () => {
  const here = await service.send("GET", "/.well-known/oauth-authorization-server/oauth2");
  const issuer = await service.send("GET", "/oauth2/.well-known/oauth-authorization-server");
  assert.deepEqual([here.status, here.json], [200, issuer.json]);
  assert.equal(here.headers["access-control-allow-origin"], "*");
});
