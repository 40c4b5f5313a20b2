import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parse } from "yaml";
import { apiDocument } from "../../endpoints.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("/docs/json and /docs/yaml are the document of the code, over HTTP/1.1 and HTTP/2, readable from any origin", async () => {
  for (const http2 of [false, true]) {
    const json = await service.send("GET", "/docs/json", { http2 });
    const yaml = await service.send("GET", "/docs/yaml", { http2 });
    assert.deepEqual(JSON.parse(json.body.toString()), apiDocument());
    assert.deepEqual(parse(yaml.body.toString()), apiDocument());
    assert.equal(json.headers["access-control-allow-origin"], "*");
  }
});
