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

/** The actions that the code names: `"member.removed"`, or the beginning of `restore.${state}`. */
async function actionsInCode(): Promise<{ whole: ReadonlySet<string>; begun: readonly string[] }> {
  const whole = new Set<string>();
  const begun: string[] = [];
  for await (const file of glob("**/*.ts", { cwd: server })) {
    if (/(?:^|\/)testing(?:\.ts|\/)|\.test\.ts$|recorded-actions/.test(file)) continue;
    const text = await readFile(path.join(server, file), "utf8");
    for (const [, name = ""] of text.matchAll(/"([a-z_]+\.[a-z_]+)"/g)) whole.add(name);
    for (const [, name = ""] of text.matchAll(/action: `([a-z_]+\.[a-z_]*)\$\{/g)) begun.push(name);
  }
  return { whole, begun };
}

describe("the table of what operations write", () => {
  test("has every operation that is no GET, and no operation that there is not", () => {
    const missing = endpoints.filter(({ spec }) => spec.method !== "GET" && !(spec.id in writtenActions));
    assert.deepEqual(
      missing.map(({ spec }) => spec.id),
      [],
      "an operation changes something and writes nothing: call tx.audit, and name the action in recorded-actions.ts",
    );
    const ids = new Set(endpoints.map(({ spec }) => spec.id));
    assert.deepEqual(
      Object.keys(writtenActions).filter((id) => !ids.has(id)),
      [],
    );
  });

  test("names actions that the code has", async () => {
    const { whole, begun } = await actionsInCode();
    const unknown = [...listed].filter((name) => !whole.has(name) && !begun.some((start) => name.startsWith(start)));
    assert.deepEqual(unknown, []);
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
