import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parse } from "yaml";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the document as YAML is the same object as the document as JSON", async () => {
  const yaml = await service.send("GET", "/docs/yaml");
  const json = await service.send("GET", "/docs/json");
  assert.match(yaml.headers["content-type"] ?? "", /^application\/yaml/);
  assert.deepEqual(parse(yaml.body.toString()), JSON.parse(json.body.toString()));
});
