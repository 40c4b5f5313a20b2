import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claimedClient,
  unknownScope,
  withKnownScopes,
  withQueryMode,
  withScopes,
  withTokenHandle,
} from "./requests.ts";

const params = (text: string) => new URLSearchParams(text);

test("no scope becomes the client's scopes, known scopes stay, unknown ones become a scope that does not exist", () => {
  assert.equal(withScopes(params(""), ["a", "b"]).get("scope"), "a b");
  assert.equal(withScopes(params("scope=+"), ["a"]).get("scope"), "a");
  assert.equal(withScopes(params("scope=audit:read"), ["a"]).get("scope"), "audit:read");
  assert.equal(withScopes(params("scope=audit:read+toString"), []).get("scope"), `audit:read ${unknownScope}`);
  assert.equal(withKnownScopes(params("scope=")).has("scope"), false);
});

test("what is repeated stays repeated, so that it is refused", () => {
  assert.deepEqual(withScopes(params("scope=a&scope=b"), ["c"]).getAll("scope"), ["a", "b"]);
  assert.deepEqual(withQueryMode(params("response_mode=a&response_mode=b")).getAll("response_mode"), ["a", "b"]);
  assert.deepEqual(withTokenHandle(params("token=a.b.c&token=d")).form.getAll("token"), ["a.b.c", "d"]);
});

test("only a JWT is taken out of a form", () => {
  assert.equal(withTokenHandle(params("token=a.b.c")).jwt, "a.b.c");
  assert.equal(withTokenHandle(params("token=a.b.c")).form.get("token"), "presented~token");
  for (const token of ["abc", "a.b", "a.b.c.d", ""]) assert.equal(withTokenHandle(params(`token=${token}`)).jwt, null);
});

test("the claimed client comes from the form, HTTP Basic or an assertion, whatever nonsense they hold", () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  assert.equal(claimedClient(params("client_id=x"), undefined), "x");
  assert.equal(claimedClient(params(""), basic("a%2Bb:s")), "a+b");
  const payload = Buffer.from('{"sub":"y"}').toString("base64url");
  assert.equal(claimedClient(params(`client_assertion=e30.${payload}.x`), undefined), "y");
  for (const header of ["Basic", "Basic !", basic(":"), basic("%"), "Bearer x", ""]) {
    assert.equal(claimedClient(params("client_assertion=nonsense"), header), undefined);
  }
  assert.equal(claimedClient(params(`client_id=${"x".repeat(65)}`), undefined), undefined);
});
