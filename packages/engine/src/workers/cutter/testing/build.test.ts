import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { buildCutter } from "./build.ts";

test("the checked-in WebAssembly is what its source compiles to, byte for byte", async () => {
  const built = await buildCutter();
  const stored = await readFile(new URL("../cutter.wasm", import.meta.url));
  assert.equal(Buffer.from(built).toString("hex"), stored.toString("hex"));
});
