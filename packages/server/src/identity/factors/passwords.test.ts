import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { describe, test } from "node:test";
import { systemRandom } from "../../kernel/clock.ts";
import { isCommonPassword } from "./common-passwords.ts";
import { dummyHash, hashParameters, hashPassword, requireGoodPassword, verifyPassword } from "./passwords.ts";

describe("passwords", () => {
  test("a hash is Argon2id with the parameters of the one place, and fits its password only", async () => {
    const hash = await hashPassword("doğru parola budur", systemRandom);
    assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.deepEqual(await verifyPassword(hash, "doğru parola budur"), { matches: true, outdated: false });
    assert.deepEqual(await verifyPassword(hash, "dogru parola budur"), { matches: false, outdated: false });
    assert.notEqual(hash, await hashPassword("doğru parola budur", systemRandom));
  });

  test("a hash of other parameters is checked by them and said to be outdated", async () => {
    const salt = Buffer.alloc(16, 3);
    const weak = { message: "eski parola", nonce: salt, parallelism: 1, tagLength: 32, memory: 8192, passes: 1 };
    const bare = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replaceAll("=", "");
    const hash = `$argon2id$v=19$m=8192,t=1,p=1$${bare(salt)}$${bare(argon2Sync("argon2id", weak))}`;
    assert.deepEqual(await verifyPassword(hash, "eski parola"), { matches: true, outdated: true });
  });

  test("the dummy hash has the current cost and matches no password", async () => {
    assert.ok(
      dummyHash.includes(`m=${hashParameters.memoryKib},t=${hashParameters.passes},p=${hashParameters.parallelism}$`),
    );
    assert.equal((await verifyPassword(dummyHash, "")).matches, false);
  });

  test("composed and decomposed letters are one password", async () => {
    const hash = await hashPassword("şifre öğle kuşu", systemRandom);
    assert.equal((await verifyPassword(hash, "şifre öğle kuşu".normalize("NFD"))).matches, true);
  });

  test("what is guessed first is refused, however it is dressed up; a sentence is not", () => {
    const easy = [
      ...["password1234", "P@ssw0rd2026!", "Galatasaray1905", "şifreşifre12", "qwertyuiop12", "123456789012"],
      ...["abcabcabcabc", "istanbul3434", "Muhasebe2026!!", "aaaaaaaaaaaa", "iloveyou2026", "987654321098"],
    ];
    for (const password of easy) assert.ok(isCommonPassword(password, []), password);
    assert.ok(isCommonPassword("zeynepkaya12", ["zeynep.kaya"]));
    for (const good of ["kırmızı tren 41 kapı", "correct horse battery", "tavşan-73-merdiven", "x9$kQ2!mZp4w"]) {
      assert.ok(!isCommonPassword(good, ["ayse", "buro"]), good);
    }
  });

  test("a refusal names the field and never the value", () => {
    assert.throws(
      () => requireGoodPassword("kedi7", "a@b.example", "/password", "en"),
      ({ extras }: { extras: unknown }) => {
        const shown = JSON.stringify(extras);
        return shown.includes("/password") && shown.includes("too_short") && !shown.includes("kedi7");
      },
    );
  });
});
