import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { scaled } from "../../testing/scale.ts";
import { Problem } from "../problems.ts";
import { closed, nullable, oneOf, Type, text, timestamp, uuid } from "./schema.ts";
import { invalidField, parseQuery, refuse, validator } from "./validate.ts";

const shape = closed({
  name: text(5),
  note: Type.Optional(text(50)),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, format: "int32" })),
  kind: Type.Optional(oneOf(["a", "b"], "")),
  id: Type.Optional(uuid("")),
  at: Type.Optional(timestamp("")),
  list: Type.Optional(Type.Array(closed({ x: Type.Boolean() }), { minItems: 1, maxItems: 2 })),
  gone: Type.Optional(nullable(text(5))),
});

const check = validator(shape, "");
const findings = (value: unknown) => check(value, "en").map(({ pointer, code }) => `${pointer} ${code}`);

/** Counts how often a member of the value is asked for, or asked about. */
function watched<T extends object>(target: T): { value: T; looks: () => number } {
  let count = 0;
  const value = new Proxy(target, {
    get: (object, name) => {
      count++;
      return Reflect.get(object, name) as unknown;
    },
    getOwnPropertyDescriptor: (object, name) => {
      count++;
      return Reflect.getOwnPropertyDescriptor(object, name);
    },
  });
  return { value, looks: () => count };
}

describe("bodies", () => {
  test("what fits the shape passes, and is not touched", () => {
    const value = {
      name: "Ağrı",
      size: 10,
      kind: "a",
      list: [{ x: true }],
      gone: null,
      at: "2026-01-01T00:00:00.000Z",
    };
    const copy = structuredClone(value);
    assert.deepEqual(findings(value), []);
    assert.deepEqual(value, copy);
  });

  test("each kind of fault has its place and its code", () => {
    for (const [value, expected] of [
      [{}, "/name required"],
      [{ name: "x", extra: 1 }, " unknown_field"],
      [{ name: "x", list: [{ x: true, y: 1 }] }, "/list/0 unknown_field"],
      [{ name: 5 }, "/name wrong_type"],
      [{ name: null }, "/name wrong_type"],
      [{ name: "" }, "/name too_short"],
      [{ name: "123456" }, "/name too_long"],
      [{ name: "x", size: 0 }, "/size out_of_range"],
      [{ name: "x", size: 11 }, "/size out_of_range"],
      [{ name: "x", kind: "c" }, "/kind not_allowed"],
      [{ name: "x", id: "not-a-uuid-but-of-the-same-length-36" }, "/id wrong_format"],
      [{ name: "x", at: "yesterday" }, "/at wrong_format"],
      [{ name: "x", list: [] }, "/list too_short"],
      [{ name: "x", list: [{ x: true }, { x: true }, { x: true }] }, "/list too_long"],
    ] as const) {
      assert.deepEqual(findings(value), [expected], JSON.stringify(value));
    }
    for (const value of [null, [], "text", 5, true, undefined]) assert.deepEqual(findings(value), [" wrong_type"]);
  });

  test("nothing is coerced: a number in quotes, a quoted boolean and 1 for true are wrong types", () => {
    assert.deepEqual(findings({ name: "x", size: "5" }), ["/size wrong_type"]);
    assert.equal(findings({ name: "x", size: 1.5 })[0], "/size wrong_type");
    assert.deepEqual(findings({ name: "x", list: [{ x: "true" }] }), ["/list/0/x wrong_type"]);
    assert.deepEqual(findings({ name: "x", list: [{ x: 1 }] }), ["/list/0/x wrong_type"]);
    assert.deepEqual(findings({ name: ["x"] }), ["/name wrong_type"]);
  });

  test("all faults are listed at once, at most twenty", () => {
    assert.equal(findings({ name: 1, size: 0, kind: "c" }).length, 3);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]));
    assert.equal(findings(many).length, 20);
  });

  test("what comes after the twentieth finding is not looked at: unknown fields, items, text", () => {
    const { value, looks } = watched(Object.fromEntries(Array.from({ length: 85_000 }, (_, at) => [`field${at}`, 1])));
    assert.equal(findings(value).length, 20);
    assert.ok(looks() < 200, `${looks()} looks at unknown fields`);

    const strict = validator(Type.Array(closed({ x: Type.Boolean() }), { maxItems: 100_000 }), "");
    const items = watched(Array.from({ length: 85_000 }, () => 1));
    assert.equal(strict(items.value, "en").length, 20);
    assert.ok(items.looks() < 200, `${items.looks()} looks at wrong items`);

    const free = validator(Type.Array(Type.String({ maxLength: 5 }), { maxItems: 100_000 }), "");
    const unstorable = watched(Array.from({ length: 85_000 }, () => "\0"));
    assert.equal(free(unstorable.value, "en").length, 20);
    // The schema, which finds nothing wrong, looks at each item once.
    assert.ok(unstorable.looks() < 85_200, `${unstorable.looks()} looks at unstorable text`);
  });

  test("a list that is too long is one finding, whatever is in it", () => {
    assert.deepEqual(findings({ name: "x", list: Array.from({ length: 85_000 }, () => 1) }), ["/list too_long"]);
  });

  test("a name that the client made up is not repeated, whatever it is", () => {
    for (const name of ["ayse@ornek.example", "__proto__", "constructor", "a/b~c", "<script>"]) {
      const value = JSON.parse(`{"name":"x",${JSON.stringify(name)}:1}`) as unknown;
      const [finding] = check(value, "en");
      assert.equal(finding?.code, "unknown_field", name);
      assert.ok(!JSON.stringify(finding).includes(name));
    }
  });

  test("a member of the prototype is no member of the body", () => {
    assert.deepEqual(findings(JSON.parse('{"__proto__":{"name":"x"}}')), ["/name required", " unknown_field"]);
    assert.deepEqual(findings(JSON.parse('{"constructor":{"prototype":{"name":"x"}}}')), [
      "/name required",
      " unknown_field",
    ]);
    assert.equal(({} as Record<string, unknown>).name, undefined);
  });

  test("text that the database cannot keep is refused: NUL and half a surrogate pair", () => {
    for (const value of ["a\0b", "\ud800", "x\udc00", "\ud83d"]) {
      assert.deepEqual(findings({ name: "x", note: value }), ["/note wrong_format"], JSON.stringify(value));
    }
    assert.deepEqual(findings({ name: "👍ü" }), []);
  });

  test("lengths count characters as people do, so an emoji is one", () => {
    assert.deepEqual(findings({ name: "👍👍👍👍👍" }), []);
    assert.deepEqual(findings({ name: "👍👍👍👍👍👍" }), ["/name too_long"]);
  });

  test("a finding speaks the language that was asked for, and never repeats a value", () => {
    const secret = "kanarya-4711";
    const [tr] = check({ name: secret }, "tr");
    const [en] = check({ name: secret }, "en");
    assert.deepEqual([tr?.code, tr?.detail], ["too_long", "Değer çok uzun."]);
    assert.deepEqual([en?.code, en?.detail], ["too_long", "The value is too long."]);
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ minLength: 8 }), (value, word) => {
        const told = JSON.stringify(check({ name: word, [word]: value, note: value, list: value }, "en"));
        assert.ok(!told.includes(JSON.stringify(word).slice(1, -1)));
      }),
      { seed: 1, numRuns: scaled(300, 20_000) },
    );
  });

  test("refusing lists every finding in one problem; nothing to refuse is nothing", () => {
    const errors = [invalidField("/a", "required", "en"), invalidField("/b", "too_long", "en")];
    refuse([]);
    assert.throws(
      () => refuse(errors),
      (error) => error instanceof Problem && isDeepStrictEqual(error.extras.errors, errors),
    );
    const many = Array.from({ length: 21 }, () => errors[0] ?? assert.fail());
    assert.throws(
      () => refuse(many),
      (error) => error instanceof Problem && error.extras.errors?.length === 20,
    );
  });
});

describe("queries", () => {
  const query = closed({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, format: "int32" })),
    all: Type.Optional(Type.Boolean()),
    name: Type.Optional(text(10)),
  });
  const parse = (text: string) => parseQuery(text, query).query;
  const code = (expected: string) => (error: unknown) => error instanceof Problem && error.code === expected;

  test("numbers and booleans are read in their one spelling; any other stays text, which validation refuses", () => {
    assert.deepEqual(parse("limit=5&all=true&name=a+b%2B%C3%BC"), { limit: 5, all: true, name: "a b+ü" });
    for (const value of ["05", "5.0", "+5", "1e1", " 5", "5 ", "", "0x5", "٥", "99999999999999999999"]) {
      assert.equal(typeof parse(`limit=${encodeURIComponent(value)}`).limit, "string", value);
    }
    for (const value of ["1", "TRUE", "yes", ""]) assert.equal(parse(`all=${value}`).all, value);
    const check = validator(query, "/query");
    assert.deepEqual(
      check(parse("limit=05"), "en").map((finding) => finding.pointer),
      ["/query/limit"],
    );
  });

  test("an unknown name is refused, also those that every object has", () => {
    for (const text of [
      "x=1",
      "Limit=5",
      "limit[]=5",
      "__proto__=1",
      "constructor=1",
      "toString",
      "&",
      "=",
      "limit=5&",
    ]) {
      assert.throws(() => parse(text), code("unknown_parameter"), text);
    }
    assert.throws(() => parseQuery("limit=5", undefined), code("unknown_parameter"));
    assert.deepEqual(parseQuery("", undefined), { query: {}, bytes: null });
  });

  test("the value of one parameter may be any bytes; what is not text is shown as U+FFFD; a broken encoding is refused", () => {
    const bytes = (text: string) => parseQuery(text, query, "name");
    assert.deepEqual(bytes("name=a%FF%2F+b&limit=5"), {
      query: { name: "a\ufffd/ b", limit: 5 },
      bytes: Buffer.from([0x61, 0xff, 0x2f, 0x20, 0x62]),
    });
    assert.deepEqual(bytes("limit=5").bytes, null);
    assert.deepEqual(bytes("name=").bytes, Buffer.alloc(0));
    for (const text of ["name=%", "name=%zz", "name=a%2"]) assert.throws(() => bytes(text), code("malformed_request"));
    for (const text of ["name=%FF&name=%FE", "n%61me=%FF&name=a"])
      assert.throws(() => bytes(text), code("duplicate_parameter"), text);
    assert.throws(() => bytes("all=%FF"), code("malformed_request"), "every other parameter is text");
    assert.throws(() => parse("name=%FF"), code("malformed_request"));
  });

  test("a name twice is refused, however it is spelled", () => {
    for (const text of ["limit=5&limit=5", "limit=5&l%69mit=6", "name=&name="]) {
      assert.throws(() => parse(text), code("duplicate_parameter"), text);
    }
  });

  test("percent signs that are no encoding, and bytes that are no UTF-8, are refused", () => {
    for (const text of ["name=%", "name=%4", "name=%zz", "name=%ff", "name=%C3", "%ff=1", "name=%ed%a0%80"]) {
      assert.throws(() => parse(text), code("malformed_request"), text);
    }
  });

  test("no query at all makes anything but a result or a problem of the catalogue", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom("", "limit=", "name=%"), (bytes, start) => {
        try {
          parse(start + Buffer.from(bytes).toString("latin1"));
        } catch (error) {
          assert.ok(error instanceof Problem, String(error));
        }
      }),
      { seed: 2, numRuns: scaled(500, 50_000) },
    );
  });
});
