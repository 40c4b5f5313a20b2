import assert from "node:assert/strict";
import { test } from "node:test";
import { directoryDigest, statFields } from "./directory-digest.ts";

test("two digests are equal only with the same names in the same order and the same stat fields of every file", () => {
  const names = ["a", "bc", "d"];
  const stats = Float64Array.from({ length: names.length * statFields }, (_, i) => i + 1);
  const digestOf = (each: readonly string[], ofStats: Float64Array) =>
    directoryDigest([Buffer.from(each.map((name) => `${name}/`).join(""))], ofStats);
  const same = (others: readonly string[], otherStats = stats) =>
    digestOf(others, otherStats).equals(digestOf(names, stats));
  assert.ok(same([...names], stats.slice()));
  for (const others of [["ab", "c", "d"], ["a", "b", "cd"], ["bc", "a", "d"], ["a", "bc"], ["a", "bc", "d", ""], []])
    assert.ok(!same(others), others.join());
  for (const i of stats.keys())
    assert.ok(
      !same(
        names,
        stats.map((field, at) => (at === i ? field + 2 ** -40 : field)),
      ),
      `field ${i}`,
    );
});
