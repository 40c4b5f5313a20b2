import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Problem } from "../problems.ts";
import { rangedReply, rangeOf } from "./range.ts";

const size = 1000;
const etag = '"abc"';
const whole = { kind: "whole", start: 0, end: size };
const part = (start: number, end: number) => ({ kind: "range", start, end });

describe("one range of bytes", () => {
  test("is given as it was asked for, within the content", () => {
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=0-", 0, 1000],
      ["bytes=10-19", 10, 20],
      ["bytes=999-", 999, 1000],
      ["bytes=990-5000", 990, 1000],
      ["bytes=-1", 999, 1000],
      ["bytes=-5000", 0, 1000],
      ["bytes=-99999999999999999999", 0, 1000],
      ["bytes=1-99999999999999999999", 1, 1000],
      ["bytes=0000000000000000000005-6", 5, 7],
      [`bytes=-${"9".repeat(190)}`, 0, 1000],
      ["Bytes=5-6", 5, 7],
      ["bytes= 5-6 ", 5, 7],
    ] as const) {
      assert.deepEqual(rangeOf({ range }, size, etag), part(start, end), range);
    }
  });

  test("beyond the end, or of no bytes, is unsatisfiable", () => {
    for (const range of [
      ...["bytes=1000-", "bytes=1000-1001", "bytes=99999999-", "bytes=-0", "bytes=1234567890123456789-"],
      ...["bytes=99999999999999999999-", "bytes=99999999999999999999-99999999999999999999"],
      ...[`bytes=${"9".repeat(190)}-`, `bytes=-${"0".repeat(190)}`],
    ]) {
      assert.deepEqual(rangeOf({ range }, size, etag), { kind: "unsatisfiable" }, range);
    }
    for (const range of ["bytes=0-", "bytes=0-0", "bytes=-1"]) {
      assert.deepEqual(rangeOf({ range }, 0, etag), { kind: "unsatisfiable" }, range);
    }
  });

  test("several, malformed and unknown ones are ignored", () => {
    for (const range of [
      "bytes=0-1,5-6",
      "bytes=0-1, 5-6",
      "bytes=-",
      "bytes=a-b",
      "bytes=5-4",
      "bytes",
      "bytes=",
      "items=0-1",
      "bytes=0x1-2",
      "bytes=1.5-2",
      "bytes=+1-2",
      "bytes=1-2;q=1",
      "bytes=99999999999999999999-99999999999999999998",
      `bytes=1-${"9".repeat(200)}`,
      "",
    ]) {
      assert.deepEqual(rangeOf({ range }, size, etag), whole, range);
    }
  });

  test("with If-Range is given only for the very same bytes", () => {
    const range = "bytes=1-2";
    assert.deepEqual(rangeOf({ range, ifRange: etag }, size, etag), part(1, 3));
    for (const ifRange of ['W/"abc"', '"other"', "abc", "Mon, 16 Nov 2026 00:00:00 GMT", "*", ""]) {
      assert.deepEqual(rangeOf({ range, ifRange }, size, etag), whole, ifRange);
    }
    assert.deepEqual(rangeOf({ range, ifRange: 'W/"abc"' }, size, 'W/"abc"'), whole, "a weak tag is never equal");
  });

  test("is not asked for by a client that has the content already", () => {
    assert.deepEqual(rangeOf({ range: "bytes=5000-", ifNoneMatch: etag }, size, etag), whole);
    assert.deepEqual(rangeOf({ range: "bytes=1-2", ifNoneMatch: '"other"' }, size, etag), part(1, 3));
  });
});

describe("the reply to a range", () => {
  const asked: unknown[] = [];
  const content = {
    size,
    etag,
    headers: { "X-One": "1" },
    chunks: (wanted: unknown) => {
      asked.push(wanted);
      return (async function* () {})();
    },
  };

  test("is 200 with everything, or 206 with the part and where it is", () => {
    const all = rangedReply({}, content);
    assert.deepEqual([all.status, all.headers, all.body.length], [200, { "X-One": "1" }, size]);
    const some = rangedReply({ range: "bytes=10-19" }, content);
    const headers = { "X-One": "1", "Content-Range": "bytes 10-19/1000" };
    assert.deepEqual([some.status, some.headers, some.body.length, some.body.etag], [206, headers, 10, etag]);
    some.body.chunks(new AbortController().signal);
    assert.deepEqual(asked, [{ start: 10, end: 20 }]);
  });

  test("is range_not_satisfiable with the size", () => {
    assert.throws(
      () => rangedReply({ range: "bytes=1000-" }, content),
      (error) =>
        error instanceof Problem &&
        error.code === "range_not_satisfiable" &&
        error.extras.headers?.["Content-Range"] === "bytes */1000",
    );
  });
});
