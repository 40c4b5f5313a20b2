import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("an ETag that the client has gets 304 and no body", async () => {
  for (const path of ["/docs", "/docs/guides/sign-in", "/docs/json", "/docs/yaml", "/docs/errors"]) {
    const first = await service.send("GET", path);
    const again = await service.send("GET", path, { headers: { "if-none-match": first.headers.etag ?? "" } });
    assert.deepEqual([first.status, again.status, again.body.length], [200, 304, 0]);
    assert.equal(again.headers.etag, first.headers.etag);
  }
});
