/**
 * Manifests: the object that describes a snapshot. The writer, which saw the files, signs it. The authority, which read
 * and accepted it, adds its own time and retention and signs all of it: this is the *acceptance*. Rebuild refuses a
 * manifest without it. A record of the chain (`chain.ts`) has the manifest's SHA-256; later changes of retention and
 * the deletion are records of the chain too.
 *
 *   manifest  magic "EMANETM2" · vault (16) · snapshot (16) · session header · u64 started, completed · varint root
 *             ordinal · root id (32) · varint size, files, warnings, stored · bytes reach · bytes details · fields (none
 *             yet) · writer's signature (64) · u64 accepted · retention · authority's signature (64) over everything
 *   details   sealed with a key derived from the session's; fields: 1 source · 2 warnings · 3 taxpayer · 4 label ·
 *             5 trigger · 6 external reference · 7 metadata (JSON) · 8 parent snapshot (16)
 *   warnings  as in `warnings.ts`
 *   retention u8 flags (1 expires, 2 locked, 4 hold) · u64 expires · u64 locked until
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { ByteReader, ByteWriter, FormatError, hex, sameBytes } from "./bytes.ts";
import type { Fields } from "./fields.ts";
import { readFields, writeFields } from "./fields.ts";
import { deriveKey, idLength } from "./hash.ts";
import type { OpenSession, SessionHeader } from "./session-header.ts";
import { openContentKey, parseSessionHeader, sessionHeaderLength, verifySessionHeader } from "./session-header.ts";
import type { Signer } from "./signing.ts";
import { signatureLength, verifySignature } from "./signing.ts";
import type { Retention, SnapshotRow } from "./snapshot.ts";
import { noRetention } from "./snapshot.ts";
import type { ReaderKeys } from "./vault-keys.ts";
import { vaultIdLength } from "./vault-keys.ts";
import type { BackupWarning } from "./warnings.ts";
import { decodeWarnings } from "./warnings.ts";

const manifestMagic = Buffer.from("EMANETM2");
const snapshotIdLength = 16;

/** An empty list. */
const noWarnings = Buffer.of(0);
const tagLength = 16;

/** A time, the flags and two times of a retention. */
const acceptanceLength = 8 + 17;

const detailTags = {
  source: 1,
  warnings: 2,
  taxpayer: 3,
  label: 4,
  trigger: 5,
  externalReference: 6,
  metadata: 7,
  parent: 8,
} as const;

/** A snapshot before it is accepted: the manifest that the writer has signed, and its row. */
export interface SnapshotDraft {
  readonly manifest: Uint8Array;
  readonly row: SnapshotRow;
}

/** What people and programs say about a snapshot. Encrypted: only readers of the vault see it. */
export interface SnapshotDetails {
  readonly taxpayer?: string | undefined;
  readonly label?: string | undefined;
  /** What started the backup: a schedule, a person, an upload. */
  readonly trigger?: string | undefined;
  readonly externalReference?: string | undefined;
  /** JSON. */
  readonly metadata?: string | undefined;
  /** The id of the snapshot before it of the same source. */
  readonly parent?: string | undefined;
}

export interface ManifestDetails extends SnapshotDetails {
  readonly source: string;
  /** Decodes the warnings, a part of them at a time. Throws `FormatError` where the list is wrong or too long. */
  readonly warnings: () => Iterable<BackupWarning>;
}

export interface Manifest {
  readonly header: SessionHeader;
  /** All of the row but the source's name, which is encrypted; `status` is `recovered`. */
  readonly row: SnapshotRow;
  /** The encrypted details; `openDetails` opens them. */
  readonly details: Uint8Array;
}

/** Writes a manifest and signs it as the writer. The acceptance is still missing. */
export function draftManifest(
  session: OpenSession,
  writer: Signer,
  row: SnapshotRow,
  details: SnapshotDetails & { readonly warnings: Uint8Array | null },
): Uint8Array {
  const out = new ByteWriter(4096 + row.reach.length);
  out.raw(manifestMagic).raw(session.header.vaultId).raw(Buffer.from(row.id, "hex")).raw(session.header.bytes);
  out.u64(row.startedAt).u64(row.completedAt).varint(row.rootOrdinal).raw(row.rootId);
  out.varint(row.size).varint(row.files).varint(row.warnings).varint(row.storedBytes);
  out.bytes(row.reach).bytes(sealDetails(session.contentKey, row, details));
  writeFields(out, []);
  const signature = writer.sign("manifest", out.view());
  return out.raw(signature).take();
}

/** What the authority adds: when it accepted the snapshot, by its own clock, and the retention. */
export interface Acceptance {
  readonly at: number;
  readonly retention: Retention;
}

/** Accepts a manifest: adds the acceptance and the authority's signature (domain `countersign`). */
export function acceptManifest(authority: Signer, draft: Uint8Array, { at, retention }: Acceptance): Buffer {
  const out = new ByteWriter(draft.length + acceptanceLength + signatureLength).raw(draft).u64(at);
  writeRetention(out, retention);
  return out.raw(authority.sign("countersign", out.view())).take();
}

/** Reads a draft. Throws `FormatError` unless it is this snapshot's, of this vault, and its writer signed it. */
export function openDraft(
  draft: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
  authorityPublicKey: Uint8Array,
): Manifest {
  const manifest = parseManifest(draft, expected);
  const writerKey = verifySessionHeader(manifest.header, expected.vaultId, authorityPublicKey);
  const end = draft.length - signatureLength;
  if (!verifySignature(writerKey, "manifest", draft.subarray(0, end), draft.subarray(end)))
    throw new FormatError("a manifest's signature is wrong");
  return manifest;
}

/** Reads a manifest. Throws `FormatError` unless it is this snapshot's, of this vault, and both signatures hold. */
export function openManifest(
  bytes: Uint8Array,
  expected: { readonly snapshot: string; readonly vaultId: Uint8Array },
  authorityPublicKey: Uint8Array,
): Manifest {
  const end = bytes.length - signatureLength;
  if (end < acceptanceLength) throw new FormatError("a manifest is too short");
  const manifest = openDraft(bytes.subarray(0, end - acceptanceLength), expected, authorityPublicKey);
  const acceptance = new ByteReader(bytes.subarray(end - acceptanceLength, end));
  const completedAt = acceptance.u64();
  const retention = readRetention(acceptance);
  if (!verifySignature(authorityPublicKey, "countersign", bytes.subarray(0, end), bytes.subarray(end))) {
    throw new FormatError("a manifest that the authority did not accept");
  }
  return { ...manifest, row: { ...manifest.row, completedAt, retention } };
}

/** The session header of a draft. Its signature is not checked here; `openDraft` does that. */
export function draftHeader(draft: Uint8Array): SessionHeader {
  const reader = new ByteReader(draft);
  reader.raw(manifestMagic.length + vaultIdLength + snapshotIdLength);
  return parseSessionHeader(reader.raw(sessionHeaderLength));
}

/** The details of a manifest, decrypted. Needs the vault's private seeds. The warnings are decoded on request only. */
export function openDetails(keys: Pick<ReaderKeys, "privateSeeds">, manifest: Manifest): ManifestDetails {
  const key = deriveKey(openContentKey(keys, manifest.header), `manifest ${manifest.row.id}`);
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.alloc(12));
  const { details } = manifest;
  if (details.length < tagLength) throw new FormatError("a manifest's details are too short");
  decipher.setAuthTag(details.subarray(details.length - tagLength));
  const reader = new ByteReader(
    openSealed(() =>
      Buffer.concat([decipher.update(details.subarray(0, details.length - tagLength)), decipher.final()]),
    ),
  );
  const fields = readFields(reader);
  reader.done();
  return {
    source: textOf(fields, detailTags.source) ?? "",
    warnings: () => decodeWarnings(fields.get(detailTags.warnings) ?? noWarnings, manifest.row.warnings),
    taxpayer: textOf(fields, detailTags.taxpayer),
    label: textOf(fields, detailTags.label),
    trigger: textOf(fields, detailTags.trigger),
    externalReference: textOf(fields, detailTags.externalReference),
    metadata: textOf(fields, detailTags.metadata),
    parent: textOf(fields, detailTags.parent, "hex"),
  };
}

function textOf(fields: Fields, tag: number, encoding: "utf8" | "hex" = "utf8"): string | undefined {
  const value = fields.get(tag);
  return value === undefined ? undefined : Buffer.from(value).toString(encoding);
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
  const details = Buffer.from(reader.bytes());
  readFields(reader);
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
  return { header, row, details };
}

function expectPlace(reader: ByteReader, expected: { readonly snapshot: string; readonly vaultId: Uint8Array }): void {
  if (!sameBytes(reader.raw(vaultIdLength), expected.vaultId)) throw new FormatError("a manifest of another vault");
  if (hex(reader.raw(snapshotIdLength)) !== expected.snapshot) throw new FormatError("a manifest of another snapshot");
}

function sealDetails(contentKey: Uint8Array, row: SnapshotRow, details: Parameters<typeof draftManifest>[3]): Buffer {
  const bytesOf = (value: string | undefined, encoding: "utf8" | "hex" = "utf8") =>
    value === undefined ? null : Buffer.from(value, encoding);
  const plain = new ByteWriter();
  writeFields(plain, [
    [detailTags.source, Buffer.from(row.source)],
    [detailTags.warnings, details.warnings],
    [detailTags.taxpayer, bytesOf(details.taxpayer)],
    [detailTags.label, bytesOf(details.label)],
    [detailTags.trigger, bytesOf(details.trigger)],
    [detailTags.externalReference, bytesOf(details.externalReference)],
    [detailTags.metadata, bytesOf(details.metadata)],
    [detailTags.parent, bytesOf(details.parent, "hex")],
  ]);
  // The key is derived from the snapshot's id, which is used once. So the constant nonce is used once with this key.
  const cipher = createCipheriv("aes-256-gcm", deriveKey(contentKey, `manifest ${row.id}`), Buffer.alloc(12));
  return Buffer.concat([cipher.update(plain.view()), cipher.final(), cipher.getAuthTag()]);
}

function openSealed(open: () => Buffer): Buffer {
  try {
    return open();
  } catch (cause) {
    throw new FormatError("a manifest's details do not open", { cause });
  }
}

export function writeRetention(out: ByteWriter, { expiresAt, lockedUntil, hold }: Retention): void {
  out.u8((expiresAt === null ? 0 : 1) | (lockedUntil === null ? 0 : 2) | (hold ? 4 : 0));
  out.u64(expiresAt ?? 0).u64(lockedUntil ?? 0);
}

export function readRetention(reader: ByteReader): Retention {
  const flags = reader.u8();
  const expires = reader.u64();
  const locked = reader.u64();
  return {
    expiresAt: (flags & 1) !== 0 ? expires : null,
    lockedUntil: (flags & 2) !== 0 ? locked : null,
    hold: (flags & 4) !== 0,
  };
}
