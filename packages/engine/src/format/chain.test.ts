import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ByteReader, FormatError } from "./bytes.ts";
import type { ChainEntry, ChainHead } from "./chain.ts";
import { assertNext, emptyChain, encodeChainRecord, headAfter, openChainRecord } from "./chain.ts";
import { ChainState } from "./chain-state.ts";
import { sha256 } from "./hash.ts";
import { signatureLength, signerFromSeed } from "./signing.ts";
import { noRetention } from "./snapshot.ts";

const authority = signerFromSeed(Buffer.alloc(32, 1));
const vaultId = Buffer.alloc(16, 2);
const snapshot = "0a".repeat(16);
const manifestHash = Buffer.alloc(32, 3);
const held = { expiresAt: 5, lockedUntil: 7, hold: true };

type Written = Exclude<ChainEntry, { kind: "unknown" }>;

const every: readonly Written[] = [
  { kind: "incarnation", incarnation: 1, reason: "created" },
  { kind: "completed", snapshot, manifestHash, retention: noRetention },
  { kind: "retention", snapshot, retention: held, reason: "dava dosyası", by: "member 7" },
  { kind: "policy", scope: "source muhasebe", policy: Buffer.from("{}"), by: "member 7" },
  { kind: "rewritten", snapshot, manifestHash: Buffer.alloc(32, 4) },
  { kind: "revoked", writerId: Buffer.alloc(16, 5), fromSession: 9, by: "member 7" },
  { kind: "epoch", epoch: 2, publicKeyHash: Buffer.alloc(32, 6) },
  { kind: "deleted", snapshot, by: "retention" },
];

function chainOf(entries: readonly Written[]): Buffer[] {
  let head = emptyChain;
  return entries.map((entry, i) => {
    const bytes = encodeChainRecord(authority, vaultId, head, 1000 + i, entry);
    head = headAfter({ sequence: i + 1 }, bytes);
    return bytes;
  });
}

function read(records: readonly Uint8Array[]): ChainState {
  const state = new ChainState();
  for (const bytes of records) {
    const signed = openChainRecord(bytes, vaultId, authority.publicKey);
    assertNext(signed, state.head);
    state.add(signed.record, signed.head);
  }
  return state;
}

describe("a chain of records", () => {
  test("the ordinals that a session has reserved are read as they were written, adjacent ranges as one", () => {
    const ranges = [
      { first: 321, end: 577 },
      { first: 33, end: 65 },
      { first: 65, end: 97 },
    ];
    const completed = { kind: "completed", snapshot, manifestHash, retention: noRetention } as const;
    const { reserved } = read(chainOf([{ ...completed, reserved: { session: 7, ranges } }]));
    assert.deepEqual(
      [...reserved],
      [
        [
          7,
          [
            { first: 33, end: 97 },
            { first: 321, end: 577 },
          ],
        ],
      ],
    );
  });

  test("every kind of record is read as it was written", () => {
    let head: ChainHead = emptyChain;
    for (const [i, bytes] of chainOf(every).entries()) {
      const signed = openChainRecord(bytes, vaultId, authority.publicKey);
      assertNext(signed, head);
      const { sequence, follows, at, ...entry } = signed.record;
      assert.deepEqual([sequence, follows, at], [i + 1, i, 1000 + i]);
      assert.deepEqual(normal(entry), normal(every[i]));
      head = { sequence, hash: sha256(bytes) };
    }
  });

  test("the state has the newest retention, the rewritten manifest, the revocation and the deletion", () => {
    const state = read(chainOf(every));
    assert.deepEqual(normal(state.snapshots.get(snapshot)), {
      manifestHash: "04".repeat(32),
      retention: held,
      deleted: true,
      sequence: 3,
    });
    assert.deepEqual([...state.live()], []);
    assert.equal(state.revoked.get("05".repeat(16)), 9);
    assert.deepEqual([state.incarnation, state.head.sequence], [1, 8]);
  });

  test("a deleted snapshot stays deleted: a second completion of it changes nothing", () => {
    const state = read(chainOf([...every, { kind: "completed", snapshot, manifestHash, retention: noRetention }]));
    assert.equal(state.snapshots.get(snapshot)?.deleted, true);
  });

  test("a revocation is never moved to a later session", () => {
    const revoked = { kind: "revoked", writerId: Buffer.alloc(16, 5), by: "x" } as const;
    const state = read(
      chainOf([
        { ...revoked, fromSession: 9 },
        { ...revoked, fromSession: 20 },
      ]),
    );
    assert.equal(state.revoked.get("05".repeat(16)), 9);
  });

  test("a record that is left out, swapped, repeated or of another vault is refused", () => {
    const [first, second, third] = chainOf(every) as [Buffer, Buffer, Buffer];
    assert.throws(() => read([second]), /out of order/);
    assert.throws(() => read([first, third]), /out of order/);
    assert.throws(() => read([first, first]), /out of order/);
    const other = encodeChainRecord(authority, Buffer.alloc(16, 9), emptyChain, 1, { ...every[0] } as Written);
    assert.throws(() => read([other]), /another vault/);
  });

  test("a record of another history is refused, also with the right number and the authority's signature", () => {
    const [first] = chainOf([{ kind: "incarnation", incarnation: 1, reason: "another" }]) as [Buffer];
    const [, second] = chainOf(every) as [Buffer, Buffer];
    assert.throws(() => read([first, second]), /does not follow/);
  });

  test("any flipped bit of a record is refused", () => {
    const [bytes] = chainOf(every) as [Buffer];
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      assert.throws(() => read([changed]), FormatError, `byte ${at}`);
    }
  });

  test("a record that the authority did not sign is refused", () => {
    const attacker = signerFromSeed(Buffer.alloc(32, 8));
    const forged = encodeChainRecord(attacker, vaultId, emptyChain, 1, every[0] as Written);
    assert.throws(() => read([forged]), /did not sign/);
  });

  test("an incarnation that skips places follows the record that it names, and no other record may skip", () => {
    const [first, second] = chainOf(every) as [Buffer, Buffer];
    const head = headAfter({ sequence: 1 }, first);
    const entry = { kind: "incarnation", incarnation: 2, reason: "lost" } as const;
    const skipping = openChainRecord(
      encodeChainRecord(authority, vaultId, head, 9, entry, 5),
      vaultId,
      authority.publicKey,
    );
    assert.deepEqual([skipping.record.follows, skipping.head.sequence], [1, 5]);
    assertNext(skipping, head);
    assert.throws(() => assertNext(skipping, headAfter({ sequence: 2 }, second)), /out of order/);
    assert.throws(() => assertNext(skipping, headAfter({ sequence: 1 }, second)), /does not follow/);
    const deleted = encodeChainRecord(authority, vaultId, head, 9, { kind: "deleted", snapshot, by: "" }, 5);
    assert.throws(() => read([first, deleted]), /out of order/);
  });

  test("an incarnation that names a later record as the one before it is refused", () => {
    const entry = { kind: "incarnation", incarnation: 2, reason: "lost" } as const;
    const bytes = encodeChainRecord(authority, vaultId, { ...emptyChain, sequence: 7 }, 9, entry, 7);
    assert.throws(() => openChainRecord(bytes, vaultId, authority.publicKey), /follows a later record/);
  });

  test("a record of a kind of a later version stays in the chain and is counted", () => {
    const [bytes] = chainOf(every) as [Buffer];
    const body = Buffer.from(bytes.subarray(0, bytes.length - signatureLength));
    // Magic, vault, sequence, hash of the record before, time.
    body.writeUInt8(99, 8 + 16 + 8 + 32 + 8);
    const state = read([Buffer.concat([body, authority.sign("chain", body)])]);
    assert.deepEqual(state.unknown, [1]);
    assert.equal(new ByteReader(body).left, body.length);
  });
});

/** Bytes as hexadecimal, so that buffers and arrays compare. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, normal(each)]));
}
