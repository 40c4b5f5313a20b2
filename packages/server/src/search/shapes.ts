/** What search and history look like from outside. */

import { closed, nullable, type Static, Type, timestamp, uuid } from "../kernel/http/schema.ts";
import type { ProjectionProgress, ShownVersion } from "../paths/index.ts";
import { entryFields, showFields } from "../snapshots/index.ts";

function snapshotOf(description: string) {
  return closed({ id: uuid("Id of the snapshot."), created_at: timestamp("When it was created.") }, { description });
}

/** A version of a file. */
export const versionFields = {
  ...entryFields,
  first_snapshot: snapshotOf("The first snapshot that has it."),
  last_snapshot: snapshotOf("The last snapshot that has it."),
  is_current: Type.Boolean({ description: "The newest snapshot of the source has it." }),
};

const types = { f: "file", d: "directory", l: "link" } as const;

export function showVersion(version: Omit<ShownVersion, "path">) {
  const { type, hash } = version;
  return {
    ...showFields({ ...version, type: types[type], hash: type === "f" ? hash : null }),
    first_snapshot: { id: version.first_id, created_at: version.first_created_at.toISOString() },
    last_snapshot: { id: version.last_id, created_at: version.last_created_at.toISOString() },
    is_current: version.is_current,
  };
}

/** More than a vault ever has. */
const maxWaiting = 2_147_483_647;

export const projectionSchema = closed(
  {
    snapshot_id: nullable(uuid("The answer has this snapshot and all older ones; null: none yet.")),
    created_at: nullable(timestamp("When that snapshot was created.")),
    waiting: Type.Integer({
      ...{ format: "int32", minimum: 0, maximum: maxWaiting },
      description: "Completed snapshots that the answer does not have yet.",
    }),
  },
  {
    title: "Projection",
    description: "How far search and history are. A job adds a snapshot within seconds of its completion.",
  },
);

export function showProgress(progress: ProjectionProgress): Static<typeof projectionSchema> {
  return {
    snapshot_id: progress.snapshot_id,
    created_at: progress.created_at?.toISOString() ?? null,
    waiting: progress.waiting,
  };
}
