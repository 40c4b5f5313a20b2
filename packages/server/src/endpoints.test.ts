import assert from "node:assert/strict";
import { test } from "node:test";
import { endpoints } from "./endpoints.ts";
import { validator } from "./kernel/http/validate.ts";

test("every schema of every operation compiles in strict mode, though the service compiles it at its first use", () => {
  let compiled = 0;
  for (const { spec } of endpoints) {
    const replies = Object.values(spec.replies).flatMap((reply) => ("body" in reply ? [reply.body] : []));
    for (const schema of [spec.params, spec.query, spec.body, ...replies]) {
      if (schema === undefined) continue;
      assert.doesNotThrow(() => validator(schema, "")(null, "en"), spec.id);
      compiled += 1;
    }
  }
  assert.ok(compiled > endpoints.length);
});
