import assert from "node:assert/strict";
import { test } from "node:test";
import { headProblem, originForm } from "./request-head.ts";

test("only an absolute-form target is changed", () => {
  assert.equal(originForm("/http://x/"), "/http://x/");
  assert.equal(originForm("*"), "*");
  assert.equal(originForm("ftp://x/y"), "ftp://x/y");
  assert.equal(originForm("https://user@x:1/y?z#"), "/y?z#");
});

test("headers that may be repeated are not refused", () => {
  const head = { httpVersion: "2.0", headers: {}, rawHeaders: ["cookie", "a=1", "cookie", "b=2", "accept", "x"] };
  assert.equal(headProblem(head, 3), null);
  assert.equal(headProblem(head, 2), "headers_too_large");
});
