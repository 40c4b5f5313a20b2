import assert from "node:assert/strict";
import { after, test } from "node:test";
import { problemCodes } from "../../declarations.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("every error code has a page, and what has none is a 404 problem", async () => {
  for (const code of problemCodes) assert.equal((await service.send("GET", `/docs/errors/${code}`)).status, 200, code);
  for (const path of ["/docs/errors/no_such_code", "/docs/errors/constructor", "/docs/assets/no.js"]) {
    assert.equal((await service.send("GET", path)).json?.code, "not_found", path);
  }
});
