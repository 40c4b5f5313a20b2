import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../problems.ts";
import { checkCondition, etagOf, maxConditionLength, noneMatch, requireMatch } from "./conditional.ts";

const note = { id: "1", text: "Ağrı" };
const etag = etagOf(note);
const malformed = (error: unknown) => error instanceof Problem && error.code === "invalid_header";
const failed = (error: unknown) => error instanceof Problem && error.code === "precondition_failed";

test("an ETag depends on the value alone, not on the order in which its members were put together", () => {
  assert.equal(etagOf({ text: "Ağrı", id: "1" }), etag);
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      assert.equal(etagOf(reversed), etagOf(value));
      assert.equal(etagOf(JSON.parse(JSON.stringify(value))), etagOf(value));
    }),
    { seed: 1, numRuns: 200 },
  );
});

test("a member of any name is part of the value", () => {
  const odd = (text: string) => etagOf(JSON.parse(text));
  assert.notEqual(odd('{"__proto__":{"a":1}}'), odd("{}"));
  assert.notEqual(odd('{"__proto__":{"a":1}}'), odd('{"__proto__":{"a":2}}'));
  assert.equal(odd('{"b":1,"10":2,"9":3}'), odd('{"9":3,"10":2,"b":1}'));
});

test("it is a strong validator in quotes, of characters that any header may carry", () => {
  assert.match(etag, /^"[A-Za-z0-9_-]{22}"$/);
});

test("any other value, and text that only looks the same, has another ETag", () => {
  const values = [
    note,
    { ...note, text: "Agri" },
    { ...note, extra: null },
    [note],
    "x",
    Buffer.from("y"),
    null,
    1,
    "1",
  ];
  const distinct = new Set(values.map(etagOf));
  assert.equal(distinct.size, values.length - 1, "the number 1 and the text 1 are the same bytes");
  assert.equal(etagOf("ü".normalize("NFC")) === etagOf("ü".normalize("NFD")), false);
});

test("bytes and the text they spell have one ETag, so a page can be kept in either form", () => {
  assert.equal(etagOf(Buffer.from("<html>")), etagOf("<html>"));
});

test("If-None-Match: the ETag itself, a weakened one, one of a list, and * mean that nothing changed", () => {
  for (const header of [etag, `W/${etag}`, `"other", ${etag}`, `"a",W/${etag},"b"`, "*", " * "]) {
    assert.equal(noneMatch(header, etag), true, header);
  }
  for (const header of [undefined, "", '"other"', etag.slice(1, -1), `${etag}x`, "W/*", '"*"']) {
    assert.equal(noneMatch(header, etag), false, String(header));
  }
});

test("If-Match: the ETag, one of a list, * and no header let the change through", () => {
  for (const header of [undefined, etag, `"other", ${etag}`, "*"]) requireMatch(header, note);
});

test("If-Match: an old ETag, a weak one, none at all or text without quotes is refused", () => {
  for (const header of ['"old"', `W/${etag}`, "", etag.slice(1, -1), "W/*", '"*"']) {
    assert.throws(() => requireMatch(header, note), failed, header);
  }
  assert.throws(() => requireMatch(etag, { ...note, text: "changed" }), failed);
});

test("the forms of RFC 9110 are conditions: *, tags, weak tags, lists, tags with commas, and no header", () => {
  const forms = [undefined, "*", '"x"', 'W/"x"', '""', '"a", W/"b","c"', '"a"\t,\t"b"', '"a,b"', '"a*", "\xfc"'];
  for (const header of forms) checkCondition(header);
  assert.equal(noneMatch('"a,b"', '"a,b"'), true);
  assert.equal(noneMatch('"a,b"', '"a'), false);
});

test("anything else is no condition, and is refused before it is compared", () => {
  const forms = ["", "x", "x, y", "W/*", 'w/"x"', '"x', 'x"', '"a" "b"', '"a",', ',"a"', '"a", *', '*, "a"', '"a b"'];
  for (const header of [...forms, "**", '"\x7f"', `"${"x".repeat(maxConditionLength)}"`]) {
    assert.throws(() => checkCondition(header), malformed, header);
  }
});

test("a hostile condition costs no time", () => {
  const started = performance.now();
  for (const header of [`${'"",'.repeat(300)}x`, `"${" ,".repeat(400)}`, `""${" ".repeat(900)}`]) {
    assert.throws(() => checkCondition(header), malformed);
  }
  assert.ok(performance.now() - started < 1_000);
});
