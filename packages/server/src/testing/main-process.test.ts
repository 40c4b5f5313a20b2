import assert from "node:assert/strict";
import { test } from "node:test";
import { sandboxSettings, startMain } from "./main-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

test("a service that is killed before it is ready ends the wait for it", async (t) => {
  const main = startMain(t, { settings: sandboxSettings(await temporaryFolder(t)) });
  const ready = main.ready();
  main.signal("SIGKILL");
  await assert.rejects(ready, /ended with SIGKILL/);
});
