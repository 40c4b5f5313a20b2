/** What the API shows of a restore. Only the paths that were asked for and the warnings name files. */

import { isUtf8 } from "node:buffer";
import { oneLinePattern } from "../accounts/index.ts";
import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import type { Language } from "../kernel/problems.ts";
import { archiveFormats, bodyPath, byteCount, warningShape } from "../snapshots/index.ts";
import { failureDetail } from "./failure-texts.ts";
import {
  conflictActions,
  damageActions,
  failureCodes,
  failures,
  hasExpired,
  isSnapshotGone,
  maxPaths,
  statuses,
  targetKinds,
} from "./rules.ts";
import { formatOf, type RestoreRecord } from "./store.ts";

/** As a root of an agent. */
const maxTargetLength = 4096;

export const restoreId = closed({ id: uuid("Id of the restore.") });

const kind = oneOf(targetKinds, "Where the files go: an archive to download, or a machine that runs the agent.");
const format = Type.Optional(oneOf(archiveFormats, "With `download`: the kind of archive."));
const agentId = Type.Optional(uuid("With `agent`: the agent."));
const folder = text(maxTargetLength, {
  pattern: oneLinePattern,
  description:
    "With `agent`: the folder on the machine. Absent: a new folder below the machine's own root for restores.",
  examples: ["/srv/geri-yukleme/2026"],
});

export const onConflict = oneOf(
  conflictActions,
  "What the agent does where a file is there already: it writes under another name (`rename`), leaves the file (`skip`), or replaces it (`overwrite`, where the machine permits it).",
);

export const newTarget = closed(
  { kind, format, agent_id: agentId, path: Type.Optional(folder), on_conflict: Type.Optional(onConflict) },
  { title: "NewRestoreTarget", description: "`download` needs `format`. `agent` needs `agent_id`." },
);
const target = closed(
  { kind, format, agent_id: agentId, path: Type.Optional(nullable(folder)), on_conflict: Type.Optional(onConflict) },
  { title: "RestoreTarget" },
);

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
    bytes_restored: byteCount("Bytes of the files that were read so far, or written by the agent."),
    files_total: byteCount("Files that were asked for."),
    files_restored: byteCount("Files that were read so far, or written by the agent."),
    verification: nullable(verification),
    warning_count: byteCount("What `GET …/warnings` lists: what could not be read, and what the agent did otherwise."),
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
    target: showTarget(row),
    on_damage: row.on_damage,
    path_count: row.paths?.length ?? null,
    status: row.state,
    ...{ bytes_total: row.bytes_total, bytes_restored: row.bytes_restored },
    ...{ files_total: row.files_total, files_restored: row.files_restored },
    verification:
      isRead && endedAt !== null
        ? {
            checked_files: row.files_restored,
            failed: row.damaged_count ?? row.warning_count,
            completed_at: endedAt.toISOString(),
          }
        : null,
    warning_count: row.warning_count,
    failure:
      code === null ? null : { code, detail: failureDetail(code, language), retryable: failures[code].retryable },
    download:
      size === null || expiresAt === null
        ? null
        : {
            ...{ size_bytes: size, expires_at: expiresAt.toISOString() },
            expired: hasExpired(row, now) || isSnapshotGone(row),
          },
    created_by: { kind: row.created_by_kind, id: row.created_by_id },
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: endedAt?.toISOString() ?? null,
    version: row.version,
  };
}

function showTarget(row: RestoreRecord): Static<typeof target> {
  const { agent_id: agent, on_conflict: conflict } = row;
  if (agent !== null && conflict !== null)
    return { kind: "agent", agent_id: agent, path: row.target_path, on_conflict: conflict };
  return { kind: "download", format: formatOf(row) };
}

/** A path as a request gives it. */
export function showPath(path: Buffer): Static<ReturnType<typeof bodyPath>> {
  return isUtf8(path) ? path.toString() : { base64: path.toString("base64") };
}
