import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { backgroundActions, refusedAction, writtenActions } from "../../packages/server/src/audit/index.ts";
import { endpoints } from "../../packages/server/src/endpoints.ts";

const server = path.resolve(import.meta.dirname, "../../packages/server/src");

const listed = new Set([
  ...Object.values(writtenActions).flatMap((one) => ("nothing" in one ? (one.sometimes ?? []) : one)),
  ...[...backgroundActions, refusedAction],
]);

describe("the table of what operations write", () => {
  test("has every operation that is no GET", () => {
    const missing = endpoints.filter(({ spec }) => spec.method !== "GET" && !(spec.id in writtenActions));
    assert.deepEqual(
      missing.map(({ spec }) => spec.id),
      [],
      "an operation changes something and writes nothing: call tx.audit, and name the action in recorded-actions.ts",
    );
  });

  test("has no line of an operation that does not exist", () => {
    const known = new Set(endpoints.map(({ spec }) => spec.id));
    assert.deepEqual(
      Object.keys(writtenActions).filter((id) => !known.has(id)),
      [],
    );
  });

  test("has every action that the code writes", async () => {
    const written: string[] = [];
    for await (const file of glob("**/*.ts", { cwd: server })) {
      if (/(?:^|\/)testing(?:\.ts|\/)|\.test\.ts$/.test(file)) continue;
      const text = await readFile(path.join(server, file), "utf8");
      for (const [, name = ""] of text.matchAll(/audit\(\{\s*action: "([a-z_.]+)"/g)) written.push(name);
    }
    assert.ok(written.length > 50, String(written.length));
    assert.deepEqual(
      written.filter((name) => !listed.has(name)),
      [],
    );
  });
});
