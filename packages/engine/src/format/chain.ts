/**
 * The chain of a vault: every completed snapshot, every change of retention and every deletion, in one signed order. Each
 * record has the next sequence number and the SHA-256 of the record before it. So a record that is missing or changed is
 * noticed, and after the loss of the catalog a hidden snapshot or a dropped hold is named.
 *
 *   record   magic "EMANETC2" · vault (16) · u64 sequence · SHA-256 of the record before (32, zeros for the first) ·
 *            u64 time · u8 kind · fields · authority's signature (64)
 *
 * A record stays for ever: a deleted snapshot's manifest goes, its records do not. A reader keeps a record of a kind that
 * it does not know in the chain and counts it: nothing may be deleted while there is one.
 *
 * Every record follows the one with the number before it. Only an incarnation, which a recovery writes, may skip places:
 * it names the record that it follows. What is in the skipped places is no part of the chain, also if it returns later.
 *
 * What the chain cannot show: the newest records of a store, removed from its end. The catalog's copy of the head shows it.
 */

import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import type { Fields } from "./fields.ts";
import { readFields, writeFields } from "./fields.ts";
import { idLength, sha256 } from "./hash.ts";
import { readRetention, writeRetention } from "./manifest.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, signerIdLength, verifySignature } from "./signing.ts";
import type { Retention } from "./snapshot.ts";
import { vaultIdLength } from "./vault-keys.ts";

const magic = Buffer.from("EMANETC2");

/** The hash that the first record names as the one before it. */
const noHash: Uint8Array = Buffer.alloc(idLength);

/** Consecutive ordinals: `first`, and the one after the last. */
export interface OrdinalRange {
  readonly first: number;
  readonly end: number;
}

/**
 * The ordinals that the catalog has reserved for a session. The metadata frames of a client are encrypted, and the client may
 * record ordinals of others in them. After the loss of the catalog this shows whose they are.
 */
export interface SessionOrdinals {
  readonly session: number;
  readonly ranges: readonly OrdinalRange[];
}

/** What a record says. */
export type ChainEntry =
  /** The first record of a vault, and of every recovery after a loss. It may skip places whose records are lost. */
  | { readonly kind: "incarnation"; readonly incarnation: number; readonly reason: string }
  | {
      readonly kind: "completed";
      readonly snapshot: string;
      /** SHA-256 of the manifest object. */
      readonly manifestHash: Uint8Array;
      readonly retention: Retention;
      /** Absent if the upload was over when the record was written. */
      readonly reserved?: SessionOrdinals | undefined;
    }
  | {
      readonly kind: "retention";
      readonly snapshot: string;
      readonly retention: Retention;
      readonly reason: string;
      /** Who asked for it, as the service names people and programs. */
      readonly by: string;
    }
  | { readonly kind: "deleted"; readonly snapshot: string; readonly by: string }
  /** A retention policy of the vault, of a source or of a taxpayer, as the service encodes it. */
  | { readonly kind: "policy"; readonly scope: string; readonly policy: Uint8Array; readonly by: string }
  | { readonly kind: "rewritten"; readonly snapshot: string; readonly manifestHash: Uint8Array }
  /** Sessions of the writer with this number or a higher one are refused. */
  | { readonly kind: "revoked"; readonly writerId: Uint8Array; readonly fromSession: number; readonly by: string }
  | { readonly kind: "epoch"; readonly epoch: number; readonly publicKeyHash: Uint8Array }
  /** Of a later version. Never written. */
  | { readonly kind: "unknown"; readonly code: number };

export type ChainRecord = ChainEntry & {
  readonly sequence: number;
  /** The number of the record before it: one less, unless an incarnation skips places. */
  readonly follows: number;
  readonly at: number;
};

/** A record that the authority signed for this vault. `assertNext` says whether it is the next one of a chain. */
export interface SignedChainRecord {
  readonly record: ChainRecord;
  /** The SHA-256 that it names as that of the record before it. */
  readonly previous: Uint8Array;
  /** The head of a chain that ends with this record. */
  readonly head: ChainHead;
}

/** The newest record of a chain: its number and its SHA-256. Sequence 0: there is none. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: Uint8Array;
}

export const emptyChain: ChainHead = { sequence: 0, hash: noHash };

const kindCodes = {
  incarnation: 1,
  completed: 2,
  retention: 3,
  deleted: 4,
  policy: 5,
  rewritten: 6,
  revoked: 7,
  epoch: 8,
} as const;

const tags = {
  snapshot: 1,
  manifestHash: 2,
  retention: 3,
  reason: 4,
  by: 5,
  scope: 6,
  policy: 7,
  writerId: 8,
  fromSession: 9,
  epoch: 10,
  publicKeyHash: 11,
  incarnation: 12,
  follows: 13,
  reserved: 14,
} as const;

/** Writes and signs the record that follows `before`. Only an incarnation may have a later place than the next. */
export function encodeChainRecord(
  authority: Signer,
  vaultId: Uint8Array,
  before: ChainHead,
  at: number,
  entry: Exclude<ChainEntry, { kind: "unknown" }>,
  sequence: number = before.sequence + 1,
): Buffer {
  const out = new ByteWriter().raw(magic).raw(vaultId).u64(sequence).raw(before.hash).u64(at);
  out.u8(kindCodes[entry.kind]);
  writeFields(out, fieldsOf(entry, before));
  return out.raw(authority.sign("chain", out.view())).take();
}

/** The head that a chain has once this record is its last. */
export function headAfter(record: { readonly sequence: number }, bytes: Uint8Array): ChainHead {
  return { sequence: record.sequence, hash: sha256(bytes) };
}

/** Reads a record. Throws `FormatError` unless the authority signed it for this vault. */
export function openChainRecord(
  bytes: Uint8Array,
  vaultId: Uint8Array,
  authorityPublicKey: Uint8Array,
): SignedChainRecord {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(magic.length), magic)) throw new FormatError("not a chain record");
  if (!sameBytes(reader.raw(vaultIdLength), vaultId)) throw new FormatError("a chain record of another vault");
  const sequence = reader.u64();
  const previous = Buffer.from(reader.raw(idLength));
  const at = reader.u64();
  const code = reader.u8();
  const fields = readFields(reader);
  const signed = bytes.subarray(0, reader.at);
  const signature = reader.raw(signatureLength);
  reader.done();
  if (!verifySignature(authorityPublicKey, "chain", signed, signature))
    throw new FormatError("a chain record that the authority did not sign");
  const follows = code === kindCodes.incarnation ? number(fields, tags.follows) : sequence - 1;
  if (follows >= sequence) throw new FormatError(`chain record ${sequence} follows a later record`);
  const record = { ...entryOf(code, fields), sequence, follows, at };
  return { record, previous, head: headAfter(record, bytes) };
}

/** Throws `FormatError` unless the record is the next one of the chain that ends with `before`. */
export function assertNext({ record, previous }: SignedChainRecord, before: ChainHead): void {
  if (record.follows !== before.sequence) throw new FormatError(`chain record ${record.sequence} is out of order`);
  if (!sameBytes(previous, before.hash))
    throw new FormatError(`chain record ${record.sequence} does not follow the record before it`);
}

function fieldsOf(entry: ChainEntry, before: ChainHead): [number, Uint8Array | null][] {
  const fields: [number, Uint8Array | null][] = [];
  if ("snapshot" in entry) fields.push([tags.snapshot, Buffer.from(entry.snapshot, "hex")]);
  if ("manifestHash" in entry) fields.push([tags.manifestHash, entry.manifestHash]);
  if ("retention" in entry) fields.push([tags.retention, retentionBytes(entry.retention)]);
  if ("reason" in entry) fields.push([tags.reason, Buffer.from(entry.reason)]);
  if ("by" in entry) fields.push([tags.by, Buffer.from(entry.by)]);
  if (entry.kind === "policy") fields.push([tags.scope, Buffer.from(entry.scope)], [tags.policy, entry.policy]);
  if (entry.kind === "revoked") {
    fields.push([tags.writerId, entry.writerId], [tags.fromSession, numberBytes(entry.fromSession)]);
  }
  if (entry.kind === "completed" && entry.reserved !== undefined)
    fields.push([tags.reserved, reservedBytes(entry.reserved)]);
  if (entry.kind === "epoch") {
    fields.push([tags.epoch, numberBytes(entry.epoch)], [tags.publicKeyHash, entry.publicKeyHash]);
  }
  if (entry.kind === "incarnation") {
    fields.push([tags.incarnation, numberBytes(entry.incarnation)], [tags.follows, numberBytes(before.sequence)]);
  }
  return fields;
}

function entryOf(code: number, fields: Fields): ChainEntry {
  const snapshot = () => hex(required(fields, tags.snapshot, snapshotIdLength));
  switch (code) {
    case kindCodes.incarnation:
      return { kind: "incarnation", incarnation: number(fields, tags.incarnation), reason: text(fields, tags.reason) };
    case kindCodes.completed:
      return {
        kind: "completed",
        snapshot: snapshot(),
        manifestHash: hash(fields, tags.manifestHash),
        retention: retention(fields),
        ...reservedIn(fields),
      };
    case kindCodes.retention:
      return {
        kind: "retention",
        snapshot: snapshot(),
        retention: retention(fields),
        reason: text(fields, tags.reason),
        by: text(fields, tags.by),
      };
    case kindCodes.deleted:
      return { kind: "deleted", snapshot: snapshot(), by: text(fields, tags.by) };
    case kindCodes.policy:
      return {
        kind: "policy",
        scope: text(fields, tags.scope),
        policy: Buffer.from(required(fields, tags.policy)),
        by: text(fields, tags.by),
      };
    case kindCodes.rewritten:
      return { kind: "rewritten", snapshot: snapshot(), manifestHash: hash(fields, tags.manifestHash) };
    case kindCodes.revoked:
      return {
        kind: "revoked",
        writerId: Buffer.from(required(fields, tags.writerId, signerIdLength)),
        fromSession: number(fields, tags.fromSession),
        by: text(fields, tags.by),
      };
    case kindCodes.epoch:
      return { kind: "epoch", epoch: number(fields, tags.epoch), publicKeyHash: hash(fields, tags.publicKeyHash) };
    default:
      return { kind: "unknown", code };
  }
}

const snapshotIdLength = 16;

function required(fields: Fields, tag: number, length?: number): Uint8Array {
  const value = fields.get(tag);
  if (value === undefined) throw new FormatError(`a chain record lacks field ${tag}`);
  if (length !== undefined && value.length !== length)
    throw new FormatError(`field ${tag} of a chain record has a wrong length`);
  return value;
}

function hash(fields: Fields, tag: number): Buffer {
  return Buffer.from(required(fields, tag, idLength));
}

function text(fields: Fields, tag: number): string {
  return Buffer.from(required(fields, tag)).toString("utf8");
}

function number(fields: Fields, tag: number): number {
  const reader = new ByteReader(required(fields, tag));
  const value = reader.varint();
  reader.done();
  return value;
}

function numberBytes(value: number): Buffer {
  return new ByteWriter(8).varint(value).take();
}

function retention(fields: Fields): Retention {
  const reader = new ByteReader(required(fields, tags.retention));
  const value = readRetention(reader);
  reader.done();
  return value;
}

function retentionBytes(value: Retention): Buffer {
  const out = new ByteWriter(32);
  writeRetention(out, value);
  return out.take();
}

/** varint session · varint ranges, each varint first, varint count; in ascending order. */
function reservedBytes({ session, ranges }: SessionOrdinals): Buffer {
  const merged: { first: number; end: number }[] = [];
  for (const { first, end } of [...ranges].sort((a, b) => a.first - b.first)) {
    const last = merged.at(-1);
    if (last?.end === first) last.end = end;
    else merged.push({ first, end });
  }
  const out = new ByteWriter(32).varint(session).varint(merged.length);
  for (const { first, end } of merged) out.varint(first).varint(end - first);
  return out.take();
}

function reservedIn(fields: Fields): { readonly reserved?: SessionOrdinals } {
  const value = fields.get(tags.reserved);
  if (value === undefined) return {};
  const reader = new ByteReader(value);
  const session = reader.varint();
  const count = reader.varint();
  const ranges: OrdinalRange[] = [];
  for (let i = 0; i < count; i++) {
    const first = reader.varint();
    ranges.push({ first, end: first + reader.varint() });
  }
  reader.done();
  return { reserved: { session, ranges } };
}
