import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { testContext } from "../testing/test-environment.ts";
import { FormatError } from "./bytes.ts";
import { openRecoveryKit, writeRecoveryKit } from "./recovery-kit.ts";
import { frameKey, openContentKey, startSession } from "./session-header.ts";
import { authoritySigner, createVaultKeys, unwrapVaultKeys, withNewEpoch, wrapVaultKeys } from "./vault-keys.ts";
import { authorityWriter } from "./writer-registration.ts";

const ctx = testContext(5);
const masterKey = Buffer.alloc(32, 7);
const kitKey = Buffer.alloc(32, 8);
const vaultId = Buffer.alloc(16, 3);
const keys = createVaultKeys(ctx, vaultId);
const writer = authorityWriter(authoritySigner(keys), vaultId);

describe("the keys of a vault", () => {
  test("a key object gives back what it was made from, and no other master key opens it", () => {
    const object = wrapVaultKeys(ctx, masterKey, keys);
    assert.deepEqual(unwrapVaultKeys(masterKey, object), keys);
    assert.throws(() => unwrapVaultKeys(kitKey, object), FormatError);
  });

  test("any flipped bit of a key object is noticed", () => {
    const object = wrapVaultKeys(ctx, masterKey, keys);
    for (let at = 0; at < object.length; at += 7) {
      const changed = Buffer.from(object);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      assert.throws(() => unwrapVaultKeys(masterKey, changed), FormatError, `byte ${at}`);
    }
  });

  test("the object of the newest epoch opens sessions of every epoch; new sessions use the newest", () => {
    const old = startSession(ctx, keys, writer, { session: 1, nonce: 1 });
    const rotated = unwrapVaultKeys(masterKey, wrapVaultKeys(ctx, masterKey, withNewEpoch(ctx, keys)));
    const fresh = startSession(ctx, rotated, writer, { session: 2, nonce: 1 });
    assert.deepEqual([old.header.epoch, fresh.header.epoch], [1, 2]);
    assert.deepEqual(openContentKey(rotated, old.header), old.contentKey);
    assert.deepEqual(openContentKey(rotated, fresh.header), fresh.contentKey);
  });

  test("a seed of an old epoch opens nothing of the new one", () => {
    const fresh = startSession(ctx, withNewEpoch(ctx, keys), writer, { session: 2, nonce: 1 });
    assert.throws(() => openContentKey(keys, fresh.header), /no epoch 2/);
    const renamed = { privateSeeds: new Map([[2, keys.privateSeeds.get(1) ?? Buffer.alloc(32)]]) };
    assert.throws(() => openContentKey(renamed, fresh.header), /commitment/);
  });

  test("a recovery kit opens every session, and the signing seed is not in it", () => {
    const rotated = withNewEpoch(ctx, keys);
    const kit = writeRecoveryKit(ctx, kitKey, rotated);
    const { authoritySeed, ...readable } = rotated;
    assert.deepEqual(openRecoveryKit(kitKey, kit), readable);
    assert.equal(kit.includes(authoritySeed), false);
    assert.throws(() => openRecoveryKit(masterKey, kit), FormatError);
    // The kit's key does not open the signing part of a key object, nor does what the kit holds.
    const object = wrapVaultKeys(ctx, masterKey, rotated);
    for (const secret of [kitKey, readable.blockIdKey, ...readable.privateSeeds.values()])
      assert.throws(() => unwrapVaultKeys(secret, object), FormatError);
  });

  test("every sealed frame of a session has a key of its own", () => {
    const { contentKey } = startSession(ctx, keys, writer, { session: 1, nonce: 1 });
    const name = { worker: 1, counter: 0, frame: 2 ** 24 + 1, generation: 0 };
    const names = [
      name,
      { ...name, worker: 2 },
      { ...name, counter: 1 },
      { ...name, frame: 3 },
      { ...name, generation: 1 },
    ];
    const distinct = new Set(names.map((each) => frameKey(contentKey, each).toString("hex")));
    assert.equal(distinct.size, names.length);
  });
});
