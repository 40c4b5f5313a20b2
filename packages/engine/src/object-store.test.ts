import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assertByteRange,
  assertListPrefix,
  assertObjectName,
  isObjectStoreError,
  maxNameLength,
  maxNamePartLength,
  ObjectStoreError,
} from "./object-store.ts";

const allowed = ["a", "0", "a.b", "a-", "a_", "vaults/v-01/packs/4f1c.pack", "console", "com", "x".repeat(128)];
const refused = [
  "",
  "/",
  "/a",
  "a/",
  "a//b",
  ".",
  "..",
  "a/../b",
  "a/./b",
  ".hidden",
  "-option",
  "a.",
  "A",
  "ı",
  "a b",
  "a\\b",
  "a:b",
  "a\0",
  "a\n",
  "a=b",
  "con",
  "nul.txt",
  "x/com1",
  "x".repeat(maxNamePartLength + 1),
  `${"x/".repeat(maxNameLength / 2)}x`,
];

describe("object names", () => {
  test("names that every store keeps as they are are allowed", () => {
    for (const name of allowed) assertObjectName(name);
  });

  test("a name that could leave its folder, fold onto another or open a device is refused", () => {
    for (const name of refused) {
      assert.throws(
        () => assertObjectName(name),
        (error) => isObjectStoreError(error, "bad_name"),
        name,
      );
    }
  });

  test("every start of an allowed name is an allowed prefix", () => {
    for (const name of allowed.slice(0, -1)) {
      for (let end = 0; end <= name.length; end += 1) assertListPrefix(name.slice(0, end));
    }
  });

  test("a prefix that no name has is refused, so a mistyped one does not look like an empty store", () => {
    for (const prefix of ["/", "a//", "..", "../", "a/../", "A", "a*", ".", "a./", "x".repeat(maxNameLength + 1)]) {
      assert.throws(
        () => assertListPrefix(prefix),
        (error) => isObjectStoreError(error, "bad_name"),
        prefix,
      );
    }
  });
});

test("a range must be made of non-negative integers whose sum is exact", () => {
  assertByteRange({ offset: 0, length: 0 });
  for (const [offset, length] of [
    [-1, 1],
    [0, -1],
    [0.5, 1],
    [0, Number.NaN],
    [Number.MAX_SAFE_INTEGER, 1],
  ] as const) {
    assert.throws(
      () => assertByteRange({ offset, length }),
      (error) => isObjectStoreError(error, "range"),
    );
  }
});

test("only temporary errors are retryable", () => {
  assert.equal(new ObjectStoreError("unavailable", "x").retryable, true);
  assert.equal(new ObjectStoreError("corrupt", "x").retryable, true);
  for (const code of ["not_found", "exists", "full", "denied", "range", "bad_body", "aborted"] as const) {
    assert.equal(new ObjectStoreError(code, "x").retryable, false);
  }
});
