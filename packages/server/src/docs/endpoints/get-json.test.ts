import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parse } from "yaml";
import { apiDocument } from "../../endpoints.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("/docs/json and /docs/yaml are the document of the code with the URL of this service, over HTTP/1.1 and HTTP/2, readable from any origin", async () => {
  const expected = apiDocument({ origin: service.url });
  assert.deepEqual(
    (expected.servers as { url: string }[]).map(({ url }) => url),
    [service.url],
  );
  for (const http2 of [false, true]) {
    const json = await service.send("GET", "/docs/json", { http2 });
    const yaml = await service.send("GET", "/docs/yaml", { http2 });
    assert.deepEqual(JSON.parse(json.body.toString()), expected);
    assert.deepEqual(parse(yaml.body.toString()), expected);
    assert.equal(json.headers["access-control-allow-origin"], "*");
  }
});
