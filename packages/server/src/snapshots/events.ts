/** The events of snapshots. Each belongs to the vault of its snapshot, so clients that are held to vaults see theirs alone. */

import { eventType } from "../kernel/events.ts";
import { closed, oneOf, uuid } from "../kernel/http/schema.ts";
import { failureCodes, triggers } from "./rules.ts";
import { byteCount } from "./shapes.ts";

const snapshotId = uuid("The snapshot.");

export const snapshotStarted = eventType({
  name: "snapshot.started",
  summary: "A backup started",
  description: "The first byte of the snapshot has arrived.",
  ofVault: true,
  fields: closed(
    { snapshot_id: snapshotId, source_id: uuid("The source."), trigger: oneOf(triggers, "What started the backup.") },
    { title: "SnapshotStarted" },
  ),
});

export const snapshotCompleted = eventType({
  name: "snapshot.completed",
  summary: "A backup completed",
  description: "Every byte of the snapshot is stored. It can be read and restored.",
  ofVault: true,
  fields: closed(
    { snapshot_id: snapshotId, size_bytes: byteCount("Bytes of the snapshot's files.") },
    { title: "SnapshotCompleted" },
  ),
});

export const snapshotFailed = eventType({
  name: "snapshot.failed",
  summary: "A backup failed",
  description: "The upload ended without a snapshot; `failure` says why. A canceled upload is reported here too.",
  ofVault: true,
  fields: closed({ snapshot_id: snapshotId, failure: oneOf(failureCodes, "Why.") }, { title: "SnapshotFailed" }),
});

export const snapshotEvents = [snapshotStarted, snapshotCompleted, snapshotFailed];
