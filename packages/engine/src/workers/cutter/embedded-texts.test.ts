import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { embeddedTexts } from "./embedded-texts.ts";

const sheet = Buffer.alloc(20_000, "PHhzbDpzdHlsZXNoZWV0").toString("latin1");

/** The parts that a text is divided into. */
function pieces(text: string, from = 0, to = text.length): string[] {
  const bytes = Buffer.from(text, "latin1");
  const ends = [...embeddedTexts(bytes, from, to).flatMap((text) => [text.from, text.to]), to];
  return ends.map((end, i) => text.slice(i === 0 ? from : ends[i - 1], end)).filter((piece) => piece !== "");
}

test("a long text between two tags is one part, whatever is around it", () => {
  for (const before of ["<a>", "<Invoice><ID>1</ID><Sheet>", `${"<x>y</x>".repeat(900)}<Sheet kind="b">`])
    for (const after of ["</a>", "</Sheet><Line>1</Line>", `</Sheet>${"<x>y</x>".repeat(900)}`])
      assert.deepEqual(pieces(before + sheet + after), [before, sheet, after]);
});

test("two embedded texts are two parts; an embedded text may end with the input", () => {
  const text = `<a>${sheet}</a><b>${sheet}</b><c>${sheet}`;
  assert.deepEqual(pieces(text), ["<a>", sheet, "</a><b>", sheet, "</b><c>", sheet]);
});

test("only the given range is searched", () => {
  const text = `<a>${sheet}</a>`;
  assert.deepEqual(pieces(text.repeat(3), text.length, text.length * 2), ["<a>", sheet, "</a>"]);
});

test("input without a long text between tags, or without tags, has no embedded text", () => {
  assert.deepEqual(embeddedTexts(Buffer.from("<a>b</a>".repeat(5000)), 0, 40_000), []);
  assert.deepEqual(embeddedTexts(Buffer.alloc(40_000, "no tags "), 0, 40_000), []);
  assert.deepEqual(embeddedTexts(Buffer.alloc(0), 0, 0), []);
});

test("embedded texts are inside the range and in order, for any bytes", () => {
  const byte = fc.constantFrom(0x3c, 0x3e, 0x41);
  const runs = fc.array(fc.tuple(byte, fc.integer({ min: 1, max: 9000 })), { maxLength: 12 });
  fc.assert(
    fc.property(runs, fc.nat(3000), (list, from) => {
      const bytes = Buffer.concat([Buffer.alloc(from), ...list.map(([value, count]) => Buffer.alloc(count, value))]);
      let end = from;
      for (const text of embeddedTexts(bytes, from, bytes.length)) {
        assert.ok(text.from >= end && text.to >= text.from && text.to <= bytes.length);
        end = text.to;
      }
    }),
    { seed: 5, numRuns: 300 },
  );
});
