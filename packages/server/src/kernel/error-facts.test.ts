import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pg from "pg";
import { describeError, isSystemCode, locationPattern } from "./error-facts.ts";

const thisFile = "packages/server/src/kernel/error-facts.test.ts";

describe("describeError", () => {
  test("an error is named by its class, whatever its name property says", () => {
    class StorageFailure extends Error {}
    const error = Object.assign(new StorageFailure("x"), { name: "ada@example.invalid" });
    assert.equal(describeError(error).name, "StorageFailure");
    assert.equal(describeError(new TypeError("x")).name, "TypeError");
    assert.equal(describeError(AbortSignal.abort().reason).name, "AbortError");
    assert.equal(describeError(new DOMException("x", "Ada")).name, "DOMException");
    assert.equal(describeError(new (class JBSWY3DPEHPK3PXP extends Error {})("x")).name, "Error");
  });

  test("locations are innermost first, relative to the project, with the function", () => {
    function thrower(): Error {
      return new Error("x");
    }
    const [first] = describeError(thrower()).locations;
    assert.equal(first?.function, "thrower");
    assert.equal(first?.file, thisFile);
    assert.ok((first?.line ?? 0) > 0 && (first?.column ?? 0) > 0);
  });

  test("frames forged in a message name no file that is not ours and no function that is not in it", () => {
    const forged = ["ada", "yilmaz"].join("_");
    const message = `no\n    at steal (/home/x/gizli-beyanname.pdf:1:2)\n    at ${forged} (${import.meta.filename}:9:9)`;
    const { locations } = describeError(
      new Error(`${message}\n    at x (/srv/app/gizli.ts:1:1)\n    at y (../../gizli.ts:1:1)`),
    );
    assert.ok(locations.length > 1);
    const told = JSON.stringify(locations);
    for (const trace of ["gizli", forged, "steal"]) assert.ok(!told.includes(trace), trace);
    // The test runner calls this test through tools/test-promises.ts.
    const ours = [thisFile, "tools/test-promises.ts"];
    assert.ok(locations.every(({ file }) => ours.includes(file) || file.startsWith("node:")));
  });

  test("a function whose name came from data is not named", () => {
    for (const key of ["ada@example.invalid", ["n532", "1234567"].join(""), ["eyJhbGci", "OiJFUzI1"].join("")]) {
      const [first] = describeError({ [key]: () => new Error("x") }[key]?.()).locations;
      assert.equal(first?.file, thisFile);
      assert.equal(first?.function, undefined, key);
    }
  });

  test("methods, constructors and async functions are named without their type", async () => {
    class Vessel {
      readonly made = new Error("x");
      sink(): Error {
        return new Error("x");
      }
      async drift(): Promise<Error> {
        await Promise.resolve();
        return new Error("x");
      }
    }
    const vessel = new Vessel();
    const names = [vessel.sink(), await vessel.drift(), vessel.made].map((made) => describeError(made).locations[0]);
    assert.deepEqual(
      names.map((place) => place?.function),
      ["sink", "drift", undefined],
    );
    assert.equal(describeError(vessel.made).locations[1]?.file, thisFile);
  });

  test("every location has the written form that the log accepts", () => {
    for (const place of describeError(new Error("x")).locations) {
      assert.match(`${place.function ?? "f"} ${place.file}:${place.line}:${place.column}`, locationPattern);
    }
  });

  test("a SQLSTATE is taken from the database driver only", () => {
    const fromDriver = Object.assign(new pg.DatabaseError("duplicate key", 1, "error"), { code: "23505" });
    assert.equal(describeError(fromDriver).name, "DatabaseError");
    assert.equal(describeError(fromDriver).systemCode, "23505");
    assert.equal(describeError(Object.assign(new Error("x"), { code: "48213" })).systemCode, undefined);
  });

  test("errno names and Node's codes are kept, anything else is not a code", () => {
    for (const code of ["ENOENT", "ECONNREFUSED", "ERR_HTTP2_STREAM_CANCEL", "UND_ERR_SOCKET", "CERT_HAS_EXPIRED"]) {
      assert.equal(describeError(Object.assign(new Error("x"), { code })).systemCode, code);
    }
    for (const code of ["JBSWY3DPEHPK3PXP", "482139", "ada@example.invalid", "EADA", "enoent", 23505, { a: 1 }]) {
      assert.equal(isSystemCode(code), false, String(code));
    }
  });

  test("causes and collected errors are followed, to a limit, through loops", () => {
    const inner = new RangeError("inner");
    const error = new AggregateError([inner, new TypeError("b")], "all", { cause: new SyntaxError("cause") });
    assert.deepEqual(
      describeError(error).causes.map((cause) => cause.name),
      ["SyntaxError", "RangeError", "TypeError"],
    );
    const loop: Error & { cause?: unknown } = new Error("loop");
    loop.cause = loop;
    assert.equal(describeError(loop).causes.length, 0);
    let deep = new Error("0");
    for (let depth = 1; depth < 100; depth += 1) deep = new Error(String(depth), { cause: deep });
    assert.equal(describeError(deep).causes.length, 4);
  });

  test("anything may be thrown, and nothing makes it throw", () => {
    const { proxy, revoke } = Proxy.revocable(new Error("x"), {});
    revoke();
    const hostile = Object.defineProperties(new Error("x"), {
      stack: { get: () => assert.fail("stack") },
      message: { get: () => assert.fail("message") },
      cause: { get: () => assert.fail("cause") },
      code: { get: () => assert.fail("code") },
    });
    for (const thrown of [undefined, null, "ada@example.invalid", 42, Symbol("s"), {}, () => 1, proxy]) {
      assert.deepEqual(describeError(thrown), { name: "NotAnError", systemCode: undefined, locations: [], causes: [] });
    }
    assert.equal(describeError(hostile).name, "Error");
  });
});
