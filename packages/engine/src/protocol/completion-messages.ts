/**
 * The messages that complete a snapshot. The manifest has everything that the writer says about the snapshot, so the
 * answer has only what the service decides: time, retention, and the place in the chain.
 *
 *   complete   request  snapshot (16) · text source · bytes manifest, as its writer signed it (docs/FORMAT.md, section 9)
 *              answer   u8 status (0 completed, 1 recovered, 2 deleting) · u64 completed · retention · varint changes
 */

import type { SnapshotRow, SnapshotStatus } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import type { SnapshotDraft } from "../format/manifest.ts";
import { readRetention, writeRetention } from "../format/manifest.ts";
import { noRetention } from "../format/snapshot.ts";
import { endMessage, readAnswer, readName, readRequest, startAnswer, startRequest, writeName } from "./message.ts";

/** A source is named by a UUID, or in local repositories by a path. */
const maxSourceBytes = 4096;

const statuses: readonly SnapshotStatus[] = ["completed", "recovered", "deleting"];

export function encodeDraft({ manifest, row }: SnapshotDraft): Buffer {
  const writer = startRequest("complete", 64 + manifest.length);
  writeName(writer, row.id);
  writer.text(row.source).bytes(manifest);
  return endMessage(writer);
}

/**
 * Reads a draft. Of its row only id and source are set: all else is in the manifest, and the target decides on retention.
 */
export function decodeDraft(bytes: Uint8Array): SnapshotDraft {
  return readRequest("complete", bytes, (reader) => {
    const id = readName(reader);
    const source = reader.bytes();
    if (source.length > maxSourceBytes) throw new FormatError("the name of the source is too long");
    const text = source.toString("utf8");
    if (!Buffer.from(text, "utf8").equals(source)) throw new FormatError("the name of the source is not UTF-8");
    return { manifest: reader.bytes(), row: { ...emptyRow, id, source: text } };
  });
}

const emptyRow: Omit<SnapshotRow, "id" | "source"> = {
  session: 0,
  startedAt: 0,
  completedAt: 0,
  rootOrdinal: 0,
  rootId: new Uint8Array(0),
  size: 0,
  files: 0,
  warnings: 0,
  storedBytes: 0,
  status: "completed",
  retention: noRetention,
  changes: 0,
  reach: new Uint8Array(0),
};

export function encodeCompletion({ status, completedAt, retention, changes }: SnapshotRow): Buffer {
  const writer = startAnswer("complete").u8(statuses.indexOf(status)).u64(completedAt);
  writeRetention(writer, retention);
  return endMessage(writer.varint(changes));
}

/** The row of a completed snapshot: that of the draft, with what the target has decided. */
export function decodeCompletion(bytes: Uint8Array, draft: SnapshotDraft): SnapshotRow {
  return readAnswer("complete", bytes, (reader) => {
    const code = reader.u8();
    const status = statuses[code];
    if (status === undefined) throw new FormatError(`status ${code} is not known`);
    const completedAt = reader.u64();
    const retention = readRetention(reader);
    return { ...draft.row, status, completedAt, retention, changes: reader.varint() };
  });
}
