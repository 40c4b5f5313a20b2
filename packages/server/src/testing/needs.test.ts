import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { needs } from "./needs.ts";

test("a program on the PATH is found and nothing is skipped", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-needs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, "curl"), "#!/bin/sh\n");
  await chmod(path.join(folder, "curl"), 0o755);
  const skips: (string | undefined)[] = [];
  const found = needs({ skip: (message) => skips.push(message) }, "curl", { PATH: `/nowhere:${folder}`, CI: "true" });
  assert.equal(found, path.join(folder, "curl"));
  assert.deepEqual(skips, []);
});

test("a missing program skips the test with the way to install it", () => {
  const skips: (string | undefined)[] = [];
  const found = needs({ skip: (message) => skips.push(message) }, "chromium", { PATH: "/nowhere", CI: "false" });
  assert.equal(found, undefined);
  assert.deepEqual(skips, ["chromium is not installed: run tools/system-packages.sh"]);
});

test("a missing program fails the test in CI", () => {
  const skip = () => assert.fail("must not be skipped in CI");
  assert.throws(() => needs({ skip }, "openssl", { PATH: "", CI: "true" }), /openssl is not installed/);
});
