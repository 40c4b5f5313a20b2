/**
 * Manifests. A snapshot exists if its manifest does. The writer, which read the files, signs the manifest. The authority
 * accepts it: it adds its own time and the retention and signs the whole. A rebuild takes no other manifest. Later changes
 * of retention are separate objects that the authority signs. The last of them may be a tombstone.
 *
 *   manifest  magic "EMANETM1" · vault (16) · snapshot (16) · session header · u64 started, completed · varint root
 *             ordinal · root id (32) · varint size, files, warnings, stored · bytes reach · bytes private · writer's
 *             signature (64) · u64 accepted · retention · authority's signature (64) over everything before it
 *   private   sealed with a key derived from the session's: text source · varint count, each bytes path, text code
 *   change    magic "EMANETC1" · vault (16) · snapshot (16) · u32 number · u64 time · u8 kind (0 retention, 1 deleted) ·
 *             retention · authority's signature (64)
 *   retention u8 flags (1 expires, 2 locked, 4 hold) · u64 expires · u64 locked until
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import { deriveKey, idLength } from "./hash.ts";
import type { OpenSession, SessionHeader } from "./session-header.ts";
import { openContentKey, parseSessionHeader, sessionHeaderLength, verifySessionHeader } from "./session-header.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, verifySignature } from "./signing.ts";
import type { Retention, SnapshotRow } from "./snapshot.ts";
import { noRetention } from "./snapshot.ts";
import { vaultIdLength } from "./vault-keys.ts";
import type { WriterRegistry } from "./writer-registration.ts";

const manifestMagic = Buffer.from("EMANETM1");
const changeMagic = Buffer.from("EMANETC1");
const snapshotIdLength = 16;
const tagLength = 16;

/** A time, the flags and two times of a retention. */
const acceptanceLength = 8 + 17;

/** Warnings kept in a manifest; their number is kept in full. */
export const maxKeptWarnings = 1000;

/** A file that is missing in the snapshot, or that changed while it was read. */
export interface BackupWarning {
  readonly path: Uint8Array;
  /** A system error code, or `changed`: the file changed while it was read. */
  readonly code: string;
}

/** A snapshot before it is accepted: the manifest that the writer has signed, and its row. */
export interface SnapshotDraft {
  readonly manifest: Uint8Array;
  readonly row: SnapshotRow;
}

export interface ManifestDetails {
  readonly source: string;
  readonly warnings: readonly BackupWarning[];
}

export interface Manifest {
  readonly header: SessionHeader;
  /** All of the row but the source's name, which is encrypted; `status` is `recovered`. */
  readonly row: SnapshotRow;
  readonly sealed: Uint8Array;
}

/** Writes a manifest and signs it as the writer. The acceptance is still missing. */
export function draftManifest(
  session: OpenSession,
  writer: Signer,
  row: SnapshotRow,
  warnings: readonly BackupWarning[],
): Uint8Array {
  const out = new ByteWriter(4096 + row.reach.length);
  out.raw(manifestMagic).raw(session.header.vaultId).raw(Buffer.from(row.id, "hex")).raw(session.header.bytes);
  out.u64(row.startedAt).u64(row.completedAt).varint(row.rootOrdinal).raw(row.rootId);
  out.varint(row.size).varint(row.files).varint(row.warnings).varint(row.storedBytes);
  out.bytes(row.reach).bytes(sealDetails(session.contentKey, row, warnings));
  const signature = writer.sign("manifest", out.view());
  return out.raw(signature).take();
}

/** What the authority adds: when it accepted the snapshot, by its own clock, and the retention. */
export interface Acceptance {
  readonly at: number;
  readonly retention: Retention;
}

/** Adds the acceptance and the authority's signature. */
export function countersign(authority: Signer, draft: Uint8Array, { at, retention }: Acceptance): Buffer {
  const out = new ByteWriter(draft.length + acceptanceLength + signatureLength).raw(draft).u64(at);
  writeRetention(out, retention);
  return out.raw(authority.sign("countersign", out.view())).take();
}

/** Reads a draft. Throws `FormatError` unless it is this snapshot's, of this vault, and its writer signed it. */
export function openDraft(
  draft: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
  writers: WriterRegistry,
): Manifest {
  const manifest = parseManifest(draft, expected);
  const writerKey = verifySessionHeader(manifest.header, expected.vaultId, writers);
  const end = draft.length - signatureLength;
  if (!verifySignature(writerKey, "manifest", draft.subarray(0, end), draft.subarray(end)))
    throw new FormatError("a manifest's signature is wrong");
  return manifest;
}

/** Reads a manifest. Throws `FormatError` unless it is this snapshot's, of this vault, and both signatures hold. */
export function openManifest(
  bytes: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
  writers: WriterRegistry,
  authorityPublicKey: Uint8Array,
): Manifest {
  const end = bytes.length - signatureLength;
  if (end < acceptanceLength) throw new FormatError("a manifest is too short");
  const manifest = openDraft(bytes.subarray(0, end - acceptanceLength), expected, writers);
  const acceptance = new ByteReader(bytes.subarray(end - acceptanceLength, end));
  const completedAt = acceptance.u64();
  const retention = readRetention(acceptance);
  if (!verifySignature(authorityPublicKey, "countersign", bytes.subarray(0, end), bytes.subarray(end))) {
    throw new FormatError("a manifest that the authority did not countersign");
  }
  return { ...manifest, row: { ...manifest.row, completedAt, retention } };
}

/** The session header of a draft. Its signature is not checked here; `openDraft` does that. */
export function draftHeader(draft: Uint8Array): SessionHeader {
  const reader = new ByteReader(draft);
  reader.raw(manifestMagic.length + vaultIdLength + snapshotIdLength);
  return parseSessionHeader(reader.raw(sessionHeaderLength));
}

/** Decrypts the private part of a manifest with the vault's private seed. */
export function openDetails(privateSeed: Uint8Array, manifest: Manifest): ManifestDetails {
  const key = deriveKey(openContentKey(privateSeed, manifest.header), `manifest ${manifest.row.id}`);
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.alloc(12));
  const { sealed } = manifest;
  decipher.setAuthTag(sealed.subarray(sealed.length - tagLength));
  const reader = new ByteReader(
    openSealed(() => Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - tagLength)), decipher.final()])),
  );
  const source = reader.text();
  const count = reader.varint();
  const warnings: BackupWarning[] = [];
  for (let i = 0; i < count; i++) warnings.push({ path: Buffer.from(reader.bytes()), code: reader.text() });
  reader.done();
  return { source, warnings };
}

export type SnapshotChange =
  | { readonly kind: "retention"; readonly number: number; readonly at: number; readonly retention: Retention }
  | { readonly kind: "deleted"; readonly number: number; readonly at: number };

/** Writes and signs a change. */
export function encodeChange(authority: Signer, vaultId: Uint8Array, snapshot: string, change: SnapshotChange): Buffer {
  const out = new ByteWriter().raw(changeMagic).raw(vaultId).raw(Buffer.from(snapshot, "hex"));
  out
    .u32(change.number)
    .u64(change.at)
    .u8(change.kind === "retention" ? 0 : 1);
  writeRetention(out, change.kind === "retention" ? change.retention : noRetention);
  return out.raw(authority.sign("change", out.view())).take();
}

/** Reads a change. Throws `FormatError` unless the authority signed it for this snapshot. */
export function decodeChange(
  bytes: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
  authorityPublicKey: Uint8Array,
): SnapshotChange {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(8), changeMagic)) throw new FormatError("not a change");
  expectPlace(reader, expected);
  const number = reader.u32();
  const at = reader.u64();
  const kind = reader.u8();
  const retention = readRetention(reader);
  const signed = bytes.subarray(0, reader.at);
  const signature = reader.raw(signatureLength);
  reader.done();
  if (kind > 1 || !verifySignature(authorityPublicKey, "change", signed, signature)) {
    throw new FormatError("a change that the authority did not sign");
  }
  return kind === 0 ? { kind: "retention", number, at, retention } : { kind: "deleted", number, at };
}

function parseManifest(
  bytes: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
): Manifest {
  const reader = new ByteReader(bytes);
  if (!sameBytes(reader.raw(8), manifestMagic)) throw new FormatError("not a manifest");
  expectPlace(reader, expected);
  const header = parseSessionHeader(reader.raw(sessionHeaderLength));
  const times = { startedAt: reader.u64(), completedAt: reader.u64() };
  const root = { rootOrdinal: reader.varint(), rootId: Buffer.from(reader.raw(idLength)) };
  const counts = {
    size: reader.varint(),
    files: reader.varint(),
    warnings: reader.varint(),
    storedBytes: reader.varint(),
  };
  const reach = Buffer.from(reader.bytes());
  const sealed = Buffer.from(reader.bytes());
  reader.raw(signatureLength);
  reader.done();
  const row: SnapshotRow = {
    id: expected.snapshot,
    source: "",
    session: header.session,
    ...times,
    ...root,
    ...counts,
    status: "recovered",
    changes: 0,
    retention: noRetention,
    reach,
  };
  return { header, row, sealed };
}

function expectPlace(reader: ByteReader, expected: { readonly snapshot: string; readonly vaultId: Uint8Array }): void {
  if (!sameBytes(reader.raw(vaultIdLength), expected.vaultId)) throw new FormatError("belongs to another vault");
  if (hex(reader.raw(snapshotIdLength)) !== expected.snapshot) throw new FormatError("belongs to another snapshot");
}

function sealDetails(contentKey: Uint8Array, row: SnapshotRow, warnings: readonly BackupWarning[]): Buffer {
  const plain = new ByteWriter().text(row.source);
  const kept = warnings.slice(0, maxKeptWarnings);
  plain.varint(kept.length);
  for (const { path, code } of kept) plain.bytes(path).text(code);
  // The key is for this snapshot only and encrypts one message, so a constant nonce is safe.
  const cipher = createCipheriv("aes-256-gcm", deriveKey(contentKey, `manifest ${row.id}`), Buffer.alloc(12));
  return Buffer.concat([cipher.update(plain.view()), cipher.final(), cipher.getAuthTag()]);
}

function openSealed(open: () => Buffer): Buffer {
  try {
    return open();
  } catch (cause) {
    throw new FormatError("a manifest's private part does not open", { cause });
  }
}

function writeRetention(out: ByteWriter, { expiresAt, lockedUntil, hold }: Retention): void {
  out.u8((expiresAt === null ? 0 : 1) | (lockedUntil === null ? 0 : 2) | (hold ? 4 : 0));
  out.u64(expiresAt ?? 0).u64(lockedUntil ?? 0);
}

function readRetention(reader: ByteReader): Retention {
  const flags = reader.u8();
  const expires = reader.u64();
  const locked = reader.u64();
  return {
    expiresAt: (flags & 1) !== 0 ? expires : null,
    lockedUntil: (flags & 2) !== 0 ? locked : null,
    hold: (flags & 4) !== 0,
  };
}
