/** What the API shows of a snapshot, and the parts that requests share with it. No field names a file. */

import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../kernel/http/schema.ts";
import type { Language } from "../kernel/problems.ts";
import { failureDetail } from "./failure-texts.ts";
import {
  failureCodes,
  failures,
  maxExternalReferenceLength,
  maxLabelLength,
  maxMetadataKeyLength,
  maxMetadataKeys,
  maxMetadataValueLength,
  statuses,
  triggers,
} from "./rules.ts";
import type { SnapshotRecord } from "./store.ts";

/** Beyond 2^53 numbers of JSON are not exact. */
const maxCount = Number.MAX_SAFE_INTEGER;

export function byteCount(description: string) {
  return Type.Integer({ format: "int64", minimum: 0, maximum: maxCount, description });
}

export const label = text(maxLabelLength, { description: "A name for people.", examples: ["Ay sonu"] });
export const externalReference = text(maxExternalReferenceLength, {
  description: "Your own id of this backup.",
  examples: ["GIB-2026-11-16"],
});
export const trigger = oneOf(triggers, "What started the backup.");

export const metadata = Type.Record(
  Type.String({ pattern: `^[^\\u0000]{1,${maxMetadataKeyLength}}$` }),
  Type.String({ maxLength: maxMetadataValueLength, pattern: "^[^\\u0000]*$" }),
  {
    maxProperties: maxMetadataKeys,
    description: `Facts of your own: at most ${maxMetadataKeys} keys with texts of at most ${maxMetadataValueLength} characters.`,
    examples: [{ host: "srv-1" }],
  },
);

const hash = (description: string) =>
  Type.String({
    ...{ minLength: 64, maxLength: 64, pattern: "^[0-9a-f]{64}$", description },
    examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  });

const failure = closed(
  {
    code: oneOf(failureCodes, "Why the upload ended without a snapshot."),
    detail: text(500, { description: "The code in words, in the language of `Accept-Language`.", examples: ["…"] }),
    retryable: Type.Boolean({ description: "Whether the same upload may succeed later." }),
  },
  { title: "SnapshotFailure" },
);

export const snapshotShape = closed(
  {
    id: uuid("Id of the snapshot."),
    account_id: uuid("The account."),
    vault_id: uuid("The vault that holds it."),
    source: closed(
      {
        id: uuid("The source."),
        name: text(200, { examples: ["muhasebe"] }),
        kind: identifier("^[a-z_]+$", "What the source is.", "files"),
      },
      { title: "SnapshotSource" },
    ),
    label: nullable(label),
    trigger,
    status: oneOf(statuses, "How far it is."),
    size_bytes: nullable(byteCount("Bytes of its files; null until it is completed.")),
    stored_bytes: Type.Optional(byteCount("What it added to storage. Not shown to clients that only write.")),
    file_count: nullable(byteCount("Number of its files; null until it is completed.")),
    warning_count: nullable(
      byteCount("Files that are not in it as they should be, and name twins; null until it is completed."),
    ),
    root_hash: nullable(hash("Opaque; equal roots of one vault have equal content.")),
    parent_id: nullable(uuid("The snapshot before it of the same source.")),
    failure: nullable(failure),
    verified_at: nullable(timestamp("When all of it was read back and compared.")),
    verification: Type.Optional(
      nullable(
        closed(
          {
            status: oneOf(["queued", "running"], "How far it is."),
            checked_files: byteCount("Files that were compared so far."),
          },
          {
            title: "SnapshotVerification",
            description: "A verification that was asked for and has not ended. Only where one snapshot is read.",
          },
        ),
      ),
    ),
    retention: closed(
      {
        expires_at: nullable(timestamp("When it expires; null: not by itself.")),
        locked_until: nullable(timestamp("The snapshot cannot be deleted before this time.")),
        legal_hold: Type.Boolean({ description: "Whether a legal hold keeps it." }),
        hold: nullable(
          closed(
            {
              reason: text(500, { description: "Why it is held.", examples: ["VUK incelemesi"] }),
              review_at: nullable(timestamp("When people want to look at it again.")),
              held_at: timestamp("Since when."),
            },
            { title: "SnapshotHold", description: "The hold; null: there is none." },
          ),
        ),
        suspicion: nullable(
          closed(
            {
              lost: byteCount("Files of the snapshot before that are gone."),
              changed: byteCount("Files whose content is another one."),
              found_at: timestamp("When it was found."),
              accepted_at: nullable(timestamp("When its acceptance took effect; until then its source is frozen.")),
            },
            { title: "SnapshotSuspicion", description: "Most files were lost or changed; null: nothing is wrong." },
          ),
        ),
      },
      { title: "SnapshotRetention" },
    ),
    metadata,
    external_reference: nullable(externalReference),
    created_by: closed(
      { kind: oneOf(["client", "agent", "member"], "What made it."), id: uuid("Which one.") },
      { title: "SnapshotCreator" },
    ),
    created_at: timestamp("When it was created."),
    started_at: nullable(timestamp("When its first byte arrived.")),
    completed_at: nullable(timestamp("When it was completed.")),
    version: Type.Integer({ format: "int32", minimum: 1, maximum: 2 ** 31 - 1, description: "Counts its changes." }),
  },
  { title: "Snapshot" },
);

/** The answer to a create. */
export const createdSnapshot = closed(
  {
    ...snapshotShape.properties,
    source_created: Type.Boolean({ description: "Whether the name made a new source." }),
  },
  { title: "CreatedSnapshot" },
);

export interface Viewer {
  readonly language: Language;
  /** Whether the caller may know what others have stored. */
  readonly seesStorage: boolean;
}

export function showSnapshot(row: SnapshotRecord, { language, seesStorage }: Viewer): Static<typeof snapshotShape> {
  const isCompleted = row.root_hash !== null;
  return {
    id: row.id,
    account_id: row.account_id,
    vault_id: row.vault_id,
    source: { id: row.source_id, name: row.source_name, kind: row.source_kind },
    label: row.label,
    trigger: row.trigger,
    status: row.status,
    size_bytes: isCompleted ? row.size_bytes : null,
    ...(seesStorage && { stored_bytes: row.stored_bytes }),
    file_count: isCompleted ? row.file_count : null,
    warning_count: isCompleted ? row.warning_count : null,
    root_hash: row.root_hash?.toString("hex") ?? null,
    parent_id: row.parent_id,
    failure: failureOf(row, language),
    verified_at: isoOrNull(row.verified_at),
    retention: {
      expires_at: isoOrNull(row.expires_at),
      locked_until: isoOrNull(row.locked_until),
      legal_hold: row.legal_hold,
      hold: holdOf(row),
      suspicion: suspicionOf(row),
    },
    metadata: row.metadata,
    external_reference: row.external_reference,
    created_by: { kind: row.created_by_kind, id: row.created_by_id },
    created_at: row.created_at.toISOString(),
    started_at: isoOrNull(row.started_at),
    completed_at: isoOrNull(row.completed_at),
    version: row.version,
  };
}

function holdOf(row: SnapshotRecord): Static<typeof snapshotShape>["retention"]["hold"] {
  if (!row.legal_hold || row.hold_reason === null || row.held_at === null) return null;
  return { reason: row.hold_reason, review_at: isoOrNull(row.hold_review_at), held_at: row.held_at.toISOString() };
}

function suspicionOf(row: SnapshotRecord): Static<typeof snapshotShape>["retention"]["suspicion"] {
  const { lost_files: lost, changed_files: changed, suspicious_at: at, accepted_at: acceptedAt } = row;
  if (lost === null || changed === null || at === null) return null;
  return { lost, changed, found_at: at.toISOString(), accepted_at: isoOrNull(acceptedAt) };
}

/** Why it has no content; or, of a completed one, that its content was not what its client said. */
function failureOf(row: SnapshotRecord, language: Language): Static<typeof failure> | null {
  const code = row.failure_code ?? (row.verification_failed_at === null ? null : "verification_failed");
  if (code === null) return null;
  return { code, detail: failureDetail(code, row.failure_reason, language), retryable: failures[code].retryable };
}

function isoOrNull(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}

export const snapshotId = closed({ id: uuid("Id of the snapshot.") });
