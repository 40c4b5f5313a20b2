import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";
import { locationOf } from "../testing.ts";

const service = await startTestService({ after });

test("a browser that did not begin here is shown a page and sent nowhere", async () => {
  const answer = await service.send("GET", `/oauth2/authorize/${"A".repeat(43)}`);
  assert.deepEqual([answer.status, locationOf(answer)], [200, ""]);
  assert.match(answer.headers["content-type"] ?? "", /^text\/html/);
});
