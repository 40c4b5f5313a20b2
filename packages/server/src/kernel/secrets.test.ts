import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { systemRandom } from "./clock.ts";
import { createSecrets, masterKeyFromFile } from "./secrets.ts";

const masterKey = Buffer.alloc(32, 7);
const secrets = createSecrets(masterKey, systemRandom);
const context = Buffer.from("row 1");

describe("seals", () => {
  test("any bytes come back as they were, under the same key, purpose and context", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.uint8Array({ maxLength: 50 }), (plain, bound) => {
        const again = createSecrets(masterKey, systemRandom);
        const opened = again.unseal("idempotency-reply", secrets.seal("idempotency-reply", plain, bound), bound);
        assert.deepEqual(opened, Buffer.from(plain));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test("a single changed bit, wherever it is, and every shorter length is an error", () => {
    const sealed = secrets.seal("idempotency-reply", Buffer.from("an answer"), context);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      assert.throws(() => secrets.unseal("idempotency-reply", changed, context), `bit ${bit}`);
    }
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => secrets.unseal("idempotency-reply", sealed.subarray(0, length), context), `length ${length}`);
    }
  });

  test("another context, another purpose or another master key opens nothing", () => {
    const sealed = secrets.seal("idempotency-reply", Buffer.from("an answer"), context);
    assert.throws(() => secrets.unseal("idempotency-reply", sealed, Buffer.from("row 2")));
    assert.throws(() => secrets.unseal("cursor", sealed, context));
    const other = createSecrets(Buffer.alloc(32, 8), systemRandom);
    assert.throws(() => other.unseal("idempotency-reply", sealed, context));
  });

  test("equal answers never look equal, and nothing of them shows", () => {
    const plain = Buffer.from("whsec_shown_once");
    const seals = Array.from({ length: 100 }, () => secrets.seal("idempotency-reply", plain, context));
    assert.equal(new Set(seals.map((sealed) => sealed.toString("hex"))).size, 100);
    assert.equal(new Set(seals.map((sealed) => sealed.toString("hex", 0, 12))).size, 100, "nonces");
    assert.ok(seals.every((sealed) => !sealed.includes(plain)));
  });
});

test("digests are the same everywhere under one master key, and different for each purpose and key", () => {
  const again = createSecrets(masterKey, systemRandom);
  assert.deepEqual(again.digest("cursor", "x"), secrets.digest("cursor", "x"));
  const other = createSecrets(Buffer.alloc(32, 8), systemRandom);
  const digests = [
    secrets.digest("cursor", "x"),
    secrets.digest("idempotency-caller", "x"),
    other.digest("cursor", "x"),
    secrets.digest("cursor", "y"),
  ];
  assert.equal(new Set(digests.map(String)).size, digests.length);
});

test("a master key of another length is refused", () => {
  for (const length of [0, 16, 31, 33]) assert.throws(() => createSecrets(Buffer.alloc(length), systemRandom));
});

describe("the key's file", () => {
  test("is made once, for its owner alone, and read ever after", async (t) => {
    const file = path.join(await temporaryFolder(t), "master.key");
    const key = await masterKeyFromFile(file, systemRandom);
    assert.equal(key.length, 32);
    assert.deepEqual(await masterKeyFromFile(file, systemRandom), key);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await readFile(file, "utf8")).trim(), key.toString("base64"));
  });

  test("a start that was cut off while making it, at any point, does not stop the next one", async (t) => {
    const folder = await temporaryFolder(t);
    const file = path.join(folder, "master.key");
    await assert.rejects(masterKeyFromFile(file, { ...systemRandom, bytes: () => assert.fail("ends here") }));
    await writeFile(`${file}.new`, "half a k");
    assert.equal((await masterKeyFromFile(file, systemRandom)).length, 32);
    assert.deepEqual(await readdir(folder), ["master.key"]);
  });

  test("one that holds no key is refused by name, not replaced: what was sealed with it would be lost", async (t) => {
    const folder = await temporaryFolder(t);
    for (const content of ["", "\n", "short", Buffer.alloc(31).toString("base64"), `${"A".repeat(43)}!`]) {
      const file = path.join(folder, "master.key");
      await writeFile(file, content);
      await assert.rejects(masterKeyFromFile(file, systemRandom), { code: "folder_unusable" }, JSON.stringify(content));
      assert.equal(await readFile(file, "utf8"), content);
    }
    await mkdir(path.join(folder, "folder.key"));
    await assert.rejects(masterKeyFromFile(path.join(folder, "folder.key"), systemRandom));
  });
});
