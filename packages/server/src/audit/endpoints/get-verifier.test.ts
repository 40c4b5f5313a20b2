import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("anybody gets the verifier of the repository", async () => {
  const answer = await service.send("GET", "/docs/verify-audit.mjs");
  assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "text/javascript"]);
  assert.deepEqual(
    answer.body,
    await readFile(path.resolve(import.meta.dirname, "../../../../../docs/audit/verify-audit.mjs")),
  );
});
