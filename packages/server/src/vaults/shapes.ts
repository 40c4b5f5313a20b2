/** What vaults and sources look like from outside. */

import { oneLinePattern } from "../accounts/index.ts";
import type { SourceWritersRow } from "../kernel/database/rows.generated.ts";
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
import { freshnessValues } from "./freshness-store.ts";
import type { SourceRow } from "./source-store.ts";
import type { VaultRow } from "./vault-store.ts";
import { writerKinds } from "./writers.ts";

/** The greatest number that JSON readers keep exactly; far beyond any store. */
const maxBytes = Number.MAX_SAFE_INTEGER;

export function byteCount(description: string) {
  return Type.Integer({ format: "int64", minimum: 0, maximum: maxBytes, description });
}

const version = Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 });

export const vaultFields = {
  name: text(200, { pattern: oneLinePattern, description: "Name of the vault.", examples: ["Muhasebe"] }),
  quota_bytes: nullable(byteCount("The vault stores at most this much; null: no quota.")),
  quota_warning_bytes: nullable(
    byteCount("At this much the event `vault.quota_warning` is sent, once until it is below again; null: never."),
  ),
};

export const vaultSchema = closed(
  {
    id: uuid("Id of the vault."),
    ...vaultFields,
    kind: oneOf(
      ["default", "taxpayer", "other"],
      "`default`: used where an upload names no vault; every account has one. `taxpayer`: the vault of a taxpayer.",
    ),
    taxpayer_id: nullable(uuid("The taxpayer whose vault it is.")),
    storage: oneOf(["service"], "Where it is stored. `service`: in the object store of this service."),
    stored_bytes: byteCount("What is stored, after deduplication and compression, unfinished uploads included."),
    source_count: Type.Integer({ format: "int32", minimum: 0, maximum: 2_147_483_647, description: "Its sources." }),
    last_verification: nullable(
      closed(
        {
          checked_files: byteCount("Files that were compared."),
          failed: byteCount("Findings: what was missing or not what it should be."),
          completed_at: timestamp("When it ended."),
        },
        { description: "The last time that a snapshot of the vault was read back and compared; null: never." },
      ),
    ),
    upkeep: closed(
      {
        paused: Type.Boolean({ description: "Whether staff have paused it." }),
        scrubbed_at: nullable(timestamp("When a part of the packs was last read and compared; a thirtieth a day.")),
        scrub_round_ended_at: nullable(timestamp("When all packs had been read once more.")),
        scrub_findings: byteCount("What the last scrub found missing or damaged."),
        damaged_frames: byteCount("Frames that are damaged still; a backup that has their content heals them."),
        healed_at: nullable(timestamp("When damaged frames were last healed.")),
        repacked_at: nullable(timestamp("When it was last repacked.")),
      },
      { title: "VaultUpkeep", description: "What the service does by itself, and what it found." },
    ),
    key_epoch: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 2_147_483_647,
      description: "The number of its newest key pair.",
    }),
    keys_rotated_at: nullable(timestamp("When that was drawn; null: with the vault.")),
    created_at: timestamp("When it was made."),
    version,
  },
  { title: "Vault" },
);

export function vaultShape(row: VaultRow): Static<typeof vaultSchema> {
  return {
    id: row.id,
    name: row.name,
    quota_bytes: row.quota_bytes,
    quota_warning_bytes: row.quota_warning_bytes,
    kind: row.kind,
    taxpayer_id: row.taxpayer_id,
    storage: "service",
    stored_bytes: row.stored_bytes,
    source_count: row.source_count,
    last_verification: verificationShape(row),
    upkeep: {
      paused: row.upkeep_paused_at !== null,
      scrubbed_at: row.scrubbed_at?.toISOString() ?? null,
      scrub_round_ended_at: row.scrub_round_ended_at?.toISOString() ?? null,
      ...{ scrub_findings: row.scrub_findings, damaged_frames: row.damaged_frames },
      ...{ healed_at: row.healed_at?.toISOString() ?? null, repacked_at: row.repacked_at?.toISOString() ?? null },
    },
    key_epoch: row.key_epoch,
    keys_rotated_at: row.keys_rotated_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    version: row.version,
  };
}

function verificationShape(row: VaultRow): Static<typeof vaultSchema>["last_verification"] {
  const { last_verified_at: at, last_verified_files: files, last_verified_failed: failed } = row;
  if (at === null || files === null || failed === null) return null;
  return { checked_files: files, failed, completed_at: at.toISOString() };
}

export const freshnessSchema = oneOf(
  freshnessValues,
  "`never`: no snapshot was completed yet. `late`: the last one is older than `expected_every`. `ok`: neither.",
);

export const lastSnapshotSchema = nullable(
  closed(
    {
      id: uuid("Id of the snapshot."),
      status: identifier("^[a-z]+$", "Its status.", "completed"),
      completed_at: nullable(timestamp("When it was completed.")),
    },
    { description: "The newest snapshot, whatever became of it." },
  ),
);

/** A year: backups that are rarer need no light. */
const maxExpectedEverySeconds = 366 * 24 * 60 * 60;
/** A minute: no backup runs more often. */
const minExpectedEverySeconds = 60;

/** Of a request that stores something. */
export const targetVaultId = uuid(
  "The vault. If absent, the account's default vault. A client that is held to other vaults: if absent, its only one; required if it has several.",
);

export const sourceFields = {
  name: text(200, {
    pattern: oneLinePattern,
    description: "Name, unique in its vault. It must not have the form of a UUID.",
    examples: ["sunucu-1:/srv/belgeler"],
  }),
  kind: oneOf(["files", "database", "e_archive", "other"], "What is backed up."),
  expected_every: nullable(
    Type.Integer({
      format: "int32",
      minimum: minExpectedEverySeconds,
      maximum: maxExpectedEverySeconds,
      description: "Seconds within which a completed snapshot is expected, again and again; null: none is expected.",
    }),
  ),
};

/** A source that is renamed more often is renamed by a program. */
export const maxAliases = 100;

export const sourceSchema = closed(
  {
    id: uuid("Id of the source."),
    vault_id: uuid("The vault it is backed up into."),
    ...sourceFields,
    aliases: Type.Array(sourceFields.name, {
      maxItems: maxAliases,
      description: "Names that it had before. Uploads that use one find this source.",
    }),
    freshness: freshnessSchema,
    last_snapshot: lastSnapshotSchema,
    last_good_at: nullable(timestamp("When a snapshot was last completed.")),
    size_bytes: nullable(byteCount("Bytes of the files of the last completed snapshot.")),
    created_at: timestamp("When it was made."),
    version,
  },
  { title: "Source" },
);

export function sourceShape(row: SourceRow): Static<typeof sourceSchema> {
  return {
    id: row.id,
    vault_id: row.vault_id,
    name: row.name,
    kind: row.kind,
    expected_every: row.expected_every_s,
    aliases: [...row.aliases],
    freshness: row.freshness,
    last_snapshot: lastSnapshotShape(row),
    last_good_at: row.last_good_at?.toISOString() ?? null,
    size_bytes: row.size_bytes,
    created_at: row.created_at.toISOString(),
    version: row.version,
  };
}

export interface LastSnapshot {
  readonly last_snapshot_id: string | null;
  readonly last_snapshot_status: string | null;
  readonly last_snapshot_completed_at: Date | null;
}

export function lastSnapshotShape(row: LastSnapshot): Static<typeof lastSnapshotSchema> {
  if (row.last_snapshot_id === null || row.last_snapshot_status === null) return null;
  return {
    id: row.last_snapshot_id,
    status: row.last_snapshot_status,
    completed_at: row.last_snapshot_completed_at?.toISOString() ?? null,
  };
}

/** An office has a handful of machines that write to one source. */
export const maxWriters = 50;

export const writerFields = {
  kind: oneOf(writerKinds, "What it is."),
  id: uuid("Id of the client, agent or member."),
};

export const writerListSchema = closed(
  {
    data: Type.Array(
      closed(
        {
          ...writerFields,
          bound_by: nullable(uuid("The member who bound it; null for a first writer, which its first upload binds.")),
          bound_at: timestamp("When it was bound."),
        },
        { title: "SourceWriter" },
      ),
      { maxItems: maxWriters, description: "The writers." },
    ),
  },
  { title: "SourceWriterList" },
);

export function writerListShape(rows: readonly SourceWritersRow[]): Static<typeof writerListSchema> {
  return {
    data: rows.map((row) => ({
      kind: row.kind,
      id: row.writer_id,
      bound_by: row.bound_by,
      bound_at: row.bound_at.toISOString(),
    })),
  };
}
