import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import type { ObjectStore } from "@emanet/engine/object-store";
import { MemoryStore } from "@emanet/storage";
import { systemRandom } from "../kernel/clock.ts";
import { createSecrets } from "../kernel/secrets.ts";
import { createTransactions, type TxContext } from "../kernel/tx.ts";
import { testClock } from "../testing/clock.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  cleanCopies,
  currentMasterKey,
  localMasterKey,
  openRootKey,
  pendingMasterKeyFile,
  rewrapRootKey,
  rootKeyCopy,
  settleMasterKeyFile,
} from "./index.ts";
import { planRotation } from "./rules.ts";
import { createSigningKeys, rotate } from "./signing-keys.ts";

const dayMs = 24 * 60 * 60 * 1000;
const database = await testDatabase({ after });
const clock = testClock();
const key = (fill: number) => localMasterKey(Buffer.alloc(32, fill), systemRandom);
const store = new MemoryStore();
const sources = { owner: database.owner, clock, random: systemRandom, openStore: async () => store };

describe("the root key", () => {
  test("many processes that start at once agree on one", async () => {
    const found = await Promise.all(Array.from({ length: 8 }, () => openRootKey(sources, key(1))));
    assert.equal(new Set(found.map((bytes) => bytes.toString("hex"))).size, 1);
    const { rows } = await database.owner.query("select wrapped from emanet.root_key");
    assert.ok(!rows[0].wrapped.includes(found[0]), "it is not kept in clear");
  });

  test("another master key is refused by name, before anything is opened", async () => {
    await assert.rejects(openRootKey(sources, key(2)), { code: "master_key_wrong" });
  });

  test("a new master key wraps the same root key, and the old one opens nothing any more", async () => {
    const before = await openRootKey(sources, key(1));
    await rewrapRootKey(sources, key(1), key(2));
    assert.deepEqual(await openRootKey(sources, key(2)), before);
    await assert.rejects(openRootKey(sources, key(1)), { code: "master_key_wrong" });
    await assert.rejects(rewrapRootKey(sources, key(1), key(3)), { code: "master_key_wrong" });
    await rewrapRootKey(sources, key(1), key(2));
    assert.deepEqual(await openRootKey(sources, key(2)), before, "a repetition changes nothing");
  });

  test("a process with both keys starts before, during and after a change; a start in between deletes no copy", async (t) => {
    const { owner } = await testDatabase(t);
    const here = new MemoryStore();
    const mine = { owner, clock, random: systemRandom, openStore: async () => here };
    const both = () => currentMasterKey(mine, [key(1), key(2)]);
    const rootKey = await openRootKey(mine, await both());
    await rootKeyCopy(key(1), rootKey).writeTo(here);
    const started = async (): Promise<boolean> => {
      const current = await both();
      assert.deepEqual(await openRootKey(mine, current), rootKey);
      return rootKeyCopy(current, rootKey, cleanCopies(owner, current)).isIn(here);
    };
    // The store calls at every step of the change: another process starts there, and one change is killed.
    for (const killedAt of [1, 2, 3, 4, 0]) {
      let steps = 0;
      const step = async () => {
        assert.equal(await started(), true);
        if (++steps === killedAt) throw new Error("killed");
      };
      const observed = new Proxy(here, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== "function") return member;
          if (name !== "put" && name !== "delete") return member.bind(target);
          return async (...given: unknown[]) => {
            await step();
            const result: unknown = await Reflect.apply(member, target, given);
            await step();
            return result;
          };
        },
      });
      const change = rewrapRootKey({ ...mine, openStore: async () => observed }, key(1), key(2));
      await change.catch((error: Error) => assert.equal(error.message, "killed"));
      assert.equal(await started(), true);
    }
    assert.equal((await both()).name, key(2).name);
    assert.deepEqual(await openRootKey(mine, key(2)), rootKey);
    let copies = 0;
    for await (const _ of here.list("service/root-key/")) copies++;
    assert.equal(copies, 1);
  });

  test("a change of the key file that a crash cut short is ended by the next start, either way", async (t) => {
    const file = path.join(await temporaryFolder(t), "master.key");
    const write = (name: string, fill: number) => writeFile(name, Buffer.alloc(32, fill).toString("base64"));
    await write(file, 9);
    await write(pendingMasterKeyFile(file), 2);
    await settleMasterKeyFile(database.owner, file, systemRandom);
    assert.equal(await readFile(file, "utf8"), Buffer.alloc(32, 2).toString("base64"), "wrapped already: the new one");
    await write(pendingMasterKeyFile(file), 5);
    await settleMasterKeyFile(database.owner, file, systemRandom);
    assert.equal(await readFile(file, "utf8"), Buffer.alloc(32, 2).toString("base64"), "not wrapped yet: the old one");
    await assert.rejects(readFile(pendingMasterKeyFile(file)));
  });
});

describe("the copy of the root key in the object store", () => {
  async function newDatabase(t: { after(done: () => Promise<void>): void }, of: MemoryStore) {
    const { owner } = await testDatabase(t);
    return { owner, clock, random: systemRandom, openStore: async () => of };
  }

  test("a new database on the old store gets the old root key, and warns of nothing", async (t) => {
    const old = new MemoryStore();
    const first = await openRootKey(await newDatabase(t, old), key(1));
    await rootKeyCopy(key(1), first).writeTo(old);
    let warned = false;
    const lost = await newDatabase(t, old);
    const again = await openRootKey({ ...lost, onMade: () => (warned = true) }, key(1));
    assert.deepEqual([again, warned], [first, false]);
    for await (const { name } of old.list("")) assert.ok(!Buffer.from(await old.get(name)).includes(first), name);
  });

  test("a new database refuses a store that was used with another master key", async (t) => {
    const old = new MemoryStore();
    await rootKeyCopy(key(1), Buffer.alloc(32, 5)).writeTo(old);
    await assert.rejects(openRootKey(await newDatabase(t, old), key(2)), { code: "master_key_wrong" });
  });

  test("a process that starts while another writes the first copy gets the same root key", async (t) => {
    // The other process does its whole start before, or after, each call that this one makes to the store.
    for (const moment of ["before list", "after list", "before get", "after get"]) {
      const here = new MemoryStore();
      const mine = await newDatabase(t, here);
      let other: Buffer | null = null;
      const start = async (now: string) => {
        if (now !== moment || other !== null) return;
        other = await openRootKey(mine, key(1));
        await rootKeyCopy(key(1), other).writeTo(here);
      };
      const observed: ObjectStore = new Proxy(here, {
        get: (target, name) => {
          if (name === "get")
            return async (object: string) => {
              await start("before get");
              return target.get(object).finally(() => start("after get"));
            };
          if (name === "list")
            return async function* (prefix: string) {
              await start("before list");
              yield* target.list(prefix);
              await start("after list");
            };
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
      const found = await openRootKey({ ...mine, openStore: async () => observed }, key(1));
      assert.deepEqual(found, other, moment);
    }
  });

  test("after a change of the master key the store opens with the new one alone", async (t) => {
    const here = new MemoryStore();
    const database = await newDatabase(t, here);
    const rootKey = await openRootKey(database, key(1));
    await rootKeyCopy(key(1), rootKey).writeTo(here);
    await rewrapRootKey(database, key(1), key(2));
    // In this order: a key that finds its copy deletes the others.
    assert.equal(await rootKeyCopy(key(1), rootKey).isIn(here), false);
    assert.equal(await rootKeyCopy(key(2), rootKey).isIn(here), true);
  });

  test("the store of another database, and a damaged copy, are refused by name", async () => {
    const other = new MemoryStore();
    await rootKeyCopy(key(1), Buffer.alloc(32, 5)).writeTo(other);
    const mine = rootKeyCopy(key(1), Buffer.alloc(32, 6));
    await assert.rejects(mine.isIn(other), { code: "storage_of_another_service" });
    for await (const { name } of other.list("")) {
      const damaged = Buffer.from(await other.get(name));
      damaged.writeUInt8(damaged.readUInt8(20) ^ 1, 20);
      await other.put(name, damaged);
    }
    await assert.rejects(mine.isIn(other), { code: "storage_unusable" });
  });
});

describe("signing keys", () => {
  const secrets = createSecrets(Buffer.alloc(32, 7), systemRandom);
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };
  const make = () => createSigningKeys({ transactions, secrets, clock, random: systemRandom });
  const turn = () =>
    transactions.run(context, { kind: "platform" }, (tx) => rotate(tx, { secrets, random: systemRandom }));

  test("many processes that start at once make one key", async () => {
    const signers = await Promise.all(Array.from({ length: 6 }, () => make().signer()));
    assert.equal(new Set(signers.map(({ kid }) => kid)).size, 1);
  });

  test("a rotation is announced before it signs, and what the old key signed stays verifiable for an hour", async () => {
    const keys = make();
    const first = (await keys.signer()).kid;
    clock.advance(90 * dayMs);
    await turn();
    await turn();
    const published = (await make().jwks()).keys.map(({ kid }) => kid);
    assert.equal(published.length, 2, "rotating twice makes one key");
    assert.equal((await keys.signer()).kid, first, "announced, not yet signing");
    clock.advance(3600 * 1000);
    const second = (await keys.signer()).kid;
    assert.notEqual(second, first);
    assert.ok(await keys.verifier(first));
    clock.advance(3601 * 1000);
    assert.equal(await keys.verifier(first), undefined);
    assert.deepEqual(
      (await keys.jwks()).keys.map(({ kid }) => kid),
      [second],
    );
  });

  test("what is published has no private part, and what is stored is sealed", async () => {
    const [jwk] = (await make().jwks()).keys;
    assert.deepEqual(Object.keys(jwk ?? {}).sort(), ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    const rows = await storedRows<{ sealed_private: Buffer }>(
      database,
      "select sealed_private from emanet.signing_keys",
    );
    assert.equal(rows.length, 2);
    for (const row of rows) assert.doesNotMatch(row.sealed_private.toString("latin1"), /"d"|PRIVATE/);
  });

  test("a key of another process, a moment ahead of this clock, is used and not doubled", () => {
    const now = clock.now();
    const ahead = new Date(now.getTime() + 500);
    assert.equal(planRotation([{ created_at: ahead, active_at: ahead }], now).kind, "keep");
    assert.equal(planRotation([], now).kind, "make");
  });
});
