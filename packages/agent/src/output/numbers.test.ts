import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, numberText } from "./numbers.ts";

test("numbers have the separators of their language, as the platform has them", () => {
  for (const value of [
    0, 7, 999, 1000, 12_345, 999_999, 1_234_567, 9_007_199_254_740_991, 0.25, 12.345, 1999.96, -4321,
  ])
    for (const digits of [0, 1, 2]) {
      const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      if (digits === 0 && !Number.isInteger(value)) continue;
      assert.equal(numberText(value, "en", digits), value.toLocaleString("en-US", options));
      assert.equal(numberText(value, "tr", digits), value.toLocaleString("tr-TR", options));
    }
  assert.deepEqual([bytesText(1_234_567, "en"), bytesText(1_234_567, "tr")], ["1.2 MB", "1,2 MB"]);
});
