import assert from "node:assert/strict";
import { after, test } from "node:test";
import { problemCodes } from "../../declarations.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after });

test("the list of error codes names every code and links its page", async () => {
  const page = (await service.send("GET", "/docs/errors")).body.toString();
  for (const code of problemCodes) assert.ok(page.includes(`/docs/errors/${code}`), code);
});
