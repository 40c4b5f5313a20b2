import assert from "node:assert/strict";
import { test } from "node:test";
import { answerer } from "./answer.ts";
import type { EndpointSpec } from "./endpoint.ts";
import { closed, Type } from "./schema.ts";

const spec: EndpointSpec = {
  ...{ id: "test.constant", method: "GET", path: "/constant", tag: "health", summary: "For tests" },
  ...{ description: "For tests.", access: { kind: "public" } },
  replies: {
    200: { description: "It.", body: closed({ ok: Type.Boolean(), list: Type.Optional(Type.Array(Type.String())) }) },
  },
};

test("a frozen body is written once, and answered with 304 to who has it", () => {
  const answer = answerer(spec);
  const body = Object.freeze({ ok: true });
  const first = answer({ status: 200, body }, undefined);
  assert.equal(first.body, '{"ok":true}');
  assert.equal(answer({ status: 200, body }, undefined), first);
  const { etag } = first.headers;
  assert.deepEqual(answer({ status: 200, body }, String(etag)).status, 304);
  assert.deepEqual(answer({ status: 200, body: { ok: true } }, undefined), first);
});

test("a body that can still change is written each time, also one that is frozen only at its top", () => {
  const answer = answerer(spec);
  const body = { ok: true };
  assert.equal(answer({ status: 200, body }, undefined).body, '{"ok":true}');
  body.ok = false;
  assert.equal(answer({ status: 200, body }, undefined).body, '{"ok":false}');
  const list = ["a"];
  const top = Object.freeze({ ok: true, list });
  assert.equal(answer({ status: 200, body: top }, undefined).body, '{"ok":true,"list":["a"]}');
  list.push("b");
  assert.equal(answer({ status: 200, body: top }, undefined).body, '{"ok":true,"list":["a","b"]}');
});

test("a frozen body with other headers has them, and one that its spec does not allow is refused each time", () => {
  const answer = answerer(spec);
  const body = Object.freeze({ ok: true });
  answer({ status: 200, body }, undefined);
  assert.equal(answer({ status: 200, body, headers: { "X-Extra": "1" } }, undefined).headers["x-extra"], "1");
  const wrong = Object.freeze({ ok: true, password: "x" });
  for (let times = 0; times < 2; times++)
    assert.throws(() => answer({ status: 200, body: wrong }, undefined), /does not allow/);
});
