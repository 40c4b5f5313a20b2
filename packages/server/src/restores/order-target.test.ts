import assert from "node:assert/strict";
import { test } from "node:test";
import { isPermitted } from "./order-target.ts";

const cases: readonly (readonly [roots: readonly string[], path: string, isPermitted: boolean])[] = [
  [["/srv/geri"], "/srv/geri", true],
  [["/srv/geri"], "/srv/geri/2026/ocak", true],
  [["/srv/geri/"], "/srv/geri/2026", true],
  [["/"], "/etc", true],
  [["/a", "/srv/geri"], "/srv/geri/x", true],
  [[], "/srv/geri", false],
  [["/srv/geri"], "/srv/gerisi", false],
  [["/srv/geri"], "/srv", false],
  [["/srv/geri"], "/srv/geri/../../etc", false],
  [["/srv/geri"], "/srv/geri/./x", false],
  [["/srv/geri"], "srv/geri/x", false],
  [["/srv/geri"], "/SRV/geri/x", false],
  [["/srv/geri"], "\\srv\\geri\\x", false],
  [["C:\\Geri"], "c:\\geri\\2026", true],
  [["C:\\Geri"], "C:/Geri/2026", true],
  [["C:\\Geri"], "C:\\Geri\\..\\Windows", false],
  [["C:\\Geri"], "D:\\Geri", false],
  [["C:\\Geri"], "C:\\Gerisi", false],
  [["\\\\sunucu\\pay"], "\\\\SUNUCU\\pay\\x", true],
];

for (const [roots, path, expected] of cases)
  test(`${path} below ${roots.join(" or ") || "nothing"}: ${expected ? "permitted" : "refused"}`, () => {
    assert.equal(isPermitted({ roots: [...roots] }, path), expected);
  });
