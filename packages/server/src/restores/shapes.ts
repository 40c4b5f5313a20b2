/** What the API shows of a restore. Only the paths that were asked for and the warnings name files. */

import { isUtf8 } from "node:buffer";
import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import type { Language } from "../kernel/problems.ts";
import { archiveFormats, bodyPath, byteCount, warningShape } from "../snapshots/index.ts";
import { failureDetail } from "./failure-texts.ts";
import { damageActions, failureCodes, failures, hasExpired, maxPaths, statuses, targetKinds } from "./rules.ts";
import type { RestoreRecord } from "./store.ts";

export const restoreId = closed({ id: uuid("Id of the restore.") });

const targetFields = {
  kind: oneOf(targetKinds, "Where the files go."),
  format: oneOf(archiveFormats, "The kind of archive."),
};

export const newTarget = closed(targetFields, { title: "NewRestoreTarget" });
const target = closed(targetFields, { title: "RestoreTarget" });

export const paths = Type.Array(bodyPath("A file or directory of the snapshot."), {
  ...{ minItems: 1, maxItems: maxPaths },
  description: "Only these files and directories; everything if absent.",
});

export const onDamage = oneOf(
  damageActions,
  "What happens when files cannot be read: the restore fails and names them (`fail`), or it has the others (`skip`).",
);

const failure = closed(
  {
    code: oneOf(failureCodes, "Why it ended without its files."),
    detail: text(500, { description: "The code in words, in the language of `Accept-Language`.", examples: ["…"] }),
    retryable: Type.Boolean({ description: "Whether the same restore may succeed later." }),
  },
  { title: "RestoreFailure" },
);

const verification = closed(
  {
    checked_files: byteCount("Files that were read and are what their hashes say."),
    failed: byteCount("Files and directories that could not be read whole; `GET …/warnings` names them."),
    completed_at: timestamp("When everything had been read."),
  },
  { title: "RestoreVerification" },
);

export const restoreShape = closed(
  {
    id: uuid("Id of the restore."),
    account_id: uuid("The account."),
    vault_id: uuid("The vault."),
    snapshot_id: uuid("The snapshot."),
    target,
    on_damage: onDamage,
    path_count: nullable(byteCount("How many paths were asked for; null: everything.")),
    status: oneOf(statuses, "How far it is."),
    bytes_total: byteCount("Bytes of the files that were asked for."),
    bytes_restored: byteCount("Bytes of the files that were read so far."),
    files_total: byteCount("Files that were asked for."),
    files_restored: byteCount("Files that were read so far."),
    verification: nullable(verification),
    warning_count: byteCount("Files and directories that could not be read whole."),
    failure: nullable(failure),
    download: nullable(
      closed(
        {
          size_bytes: byteCount("Bytes of the archive."),
          expires_at: timestamp("Until when it can be downloaded."),
          expired: Type.Boolean({ description: "Whether that time has passed, or the snapshot was deleted." }),
        },
        { title: "RestoreDownload" },
      ),
    ),
    created_by: closed(
      { kind: oneOf(["client", "agent", "member"], "What started it."), id: uuid("Which one.") },
      { title: "RestoreCreator" },
    ),
    created_at: timestamp("When it was accepted."),
    started_at: nullable(timestamp("When reading began.")),
    completed_at: nullable(timestamp("When it was completed, failed or was canceled.")),
    version: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 2 ** 31 - 1,
      description: "Counts its changes of state.",
    }),
  },
  { title: "Restore" },
);

/** One restore, with what names files. */
export const restoreWithPaths = closed(
  {
    ...restoreShape.properties,
    paths: nullable(Type.Array(bodyPath("A path that was asked for."), { maxItems: maxPaths })),
    warnings: Type.Array(warningShape, {
      maxItems: 100,
      description: "What could not be read; the first 100. `GET …/warnings` has all of them.",
    }),
  },
  { title: "RestoreWithPaths" },
);

/** Warnings that one restore shows. */
export const shownWarnings = 100;

export function showRestore(row: RestoreRecord, language: Language, now: Date): Static<typeof restoreShape> {
  const { ended_at: endedAt, archive_bytes: size, expires_at: expiresAt, failure_code: code } = row;
  const isRead = row.state === "completed" || code === "content_damaged";
  return {
    ...{ id: row.id, account_id: row.account_id, vault_id: row.vault_id, snapshot_id: row.snapshot_id },
    target: { kind: row.target_kind, format: row.format },
    on_damage: row.on_damage,
    path_count: row.paths?.length ?? null,
    status: row.state,
    ...{ bytes_total: row.bytes_total, bytes_restored: row.bytes_restored },
    ...{ files_total: row.files_total, files_restored: row.files_restored },
    verification:
      isRead && endedAt !== null
        ? { checked_files: row.files_restored, failed: row.warning_count, completed_at: endedAt.toISOString() }
        : null,
    warning_count: row.warning_count,
    failure:
      code === null ? null : { code, detail: failureDetail(code, language), retryable: failures[code].retryable },
    download:
      size === null || expiresAt === null
        ? null
        : {
            ...{ size_bytes: size, expires_at: expiresAt.toISOString() },
            expired: hasExpired(row, now) || row.snapshot_state === "deleted",
          },
    created_by: { kind: row.created_by_kind, id: row.created_by_id },
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: endedAt?.toISOString() ?? null,
    version: row.version,
  };
}

/** A path as a request gives it. */
export function showPath(path: Buffer): Static<ReturnType<typeof bodyPath>> {
  return isUtf8(path) ? path.toString() : { base64: path.toString("base64") };
}
