import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../problems.ts";
import { maxJsonDepth, parseStrictJson } from "./strict-json.ts";

const parse = (text: string) => parseStrictJson(Buffer.from(text));
const malformed = (error: unknown) => error instanceof Problem && error.code === "malformed_json";

test("every JSON value without repeated keys is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8, noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("a repeated key is refused, however it is spelled and wherever it is", () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{"b":[],"b":[]}}]',
    '{"k":"\\"","k":1}',
    '{"__proto__":1,"__proto__":2}',
  ]) {
    assert.throws(() => parse(text), malformed, text);
  }
});

test("equal keys in different objects, and strings that look like keys, are fine", () => {
  for (const text of [
    '[{"a":1},{"a":2}]',
    '{"a":{"a":{"a":1}}}',
    '["a","a"]',
    '{"a":"a","b":"a"}',
    '{"a":[1,"a"],"b":1}',
  ]) {
    assert.deepEqual(parse(text), JSON.parse(text));
  }
});

test("deep nesting is refused and costs no stack", () => {
  const nest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assert.doesNotThrow(() => parse(nest(maxJsonDepth)));
  assert.throws(() => parse(nest(maxJsonDepth + 1)), malformed);
  assert.throws(() => parse(nest(100_000)), malformed);
  assert.throws(() => parse('{"a":'.repeat(100_000)), malformed);
});

test("bytes that are not UTF-8, a byte order mark, text after the value and nothing at all are refused", () => {
  assert.throws(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22])), malformed);
  for (const text of ["\uFEFF{}", "{} {}", "", " ", "{'a':1}", '{"a":NaN}', "{,}"]) {
    assert.throws(() => parse(text), malformed, text);
  }
});
