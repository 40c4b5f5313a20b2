/** The events of restores: accepted, completed, ended without its files. Each is emitted in the commit of its change of state. */

import { eventType } from "../kernel/events.ts";
import { closed, oneOf, uuid } from "../kernel/http/schema.ts";
import { byteCount } from "../snapshots/index.ts";
import { failureCodes } from "./rules.ts";

const ids = { restore_id: uuid("The restore."), snapshot_id: uuid("The snapshot.") };

export const restoreStarted = eventType({
  name: "restore.started",
  summary: "A restore started",
  description: "The restore was accepted.",
  ofVault: true,
  fields: closed(ids, { title: "RestoreStarted" }),
});

export const restoreCompleted = eventType({
  name: "restore.completed",
  summary: "A restore completed",
  description:
    "Every file was read and compared with its hash. With `warning_count` above 0 some could not be read and are left out.",
  ofVault: true,
  fields: closed(
    {
      ...ids,
      files_restored: byteCount("Restored files."),
      bytes_restored: byteCount("Bytes of these files."),
      warning_count: byteCount("What could not be read and is left out."),
    },
    { title: "RestoreCompleted" },
  ),
});

export const restoreFailed = eventType({
  name: "restore.failed",
  summary: "A restore failed",
  description: "It ended without all files; `failure` says why. A canceled restore is reported here with `canceled`.",
  ofVault: true,
  fields: closed({ ...ids, failure: oneOf(failureCodes, "Why.") }, { title: "RestoreFailed" }),
});

export const restoreEvents = [restoreStarted, restoreCompleted, restoreFailed];
