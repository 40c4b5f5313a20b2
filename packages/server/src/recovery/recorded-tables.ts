/** The tables of a record, in the order in which their rows can be inserted. */

export interface RecordedTable {
  readonly table: string;
  /** The columns that tell one row from another. */
  readonly key: readonly string[];
  /** Columns that are not recorded: the catalog or the next snapshot sets them again. */
  readonly without?: readonly string[];
  /** What becomes of a row of the database that a newer record does not have. Without it the row stays. */
  readonly ended?: string;
  /**
   * Values by column with which a row is in the way of no other one. Rows get them before any of them gets what a record says:
   * names and addresses may have changed hands since.
   */
  readonly freed?: Readonly<Record<string, string>>;
}

const people: RecordedTable = {
  ...{ table: "people", key: ["id"], ended: "set state = 'removed', version = version + 1" },
  freed: { email_key: "id::text" },
};

/** Rows of one account. */
export const accountTables: readonly RecordedTable[] = [
  { table: "accounts", key: ["id"], without: ["application_id"] },
  { table: "account_entitlements", key: ["account_id", "entitlement"] },
  people,
  // Without them: the person was erased meanwhile.
  { table: "credentials", key: ["person_id"], without: ["sealed_totp_next"], ended: "delete" },
  { table: "recovery_codes", key: ["person_id", "code_hash"], ended: "delete" },
  { table: "oauth_clients", key: ["id"], ended: "set revoked_at = coalesce(revoked_at, now())" },
  { table: "oauth_client_secrets", key: ["id"], ended: "delete" },
  {
    table: "vaults",
    key: ["id"],
    without: [
      ...["stored_bytes", "quota_warned", "has_catalog", "keys_made_at"],
      ...["last_verified_at", "last_verified_files", "last_verified_failed", "upkeep_begun_at"],
      "erasure_asked_at",
      ...["scrub_slice", "scrubbed_at", "scrub_round_ended_at", "scrubbed_packs", "scrub_findings"],
      ...["healed_at", "healed_frames", "damaged_frames", "repacked_at", "repacked_packs"],
    ],
  },
  { table: "erasures", key: ["id"], without: ["checked_at"] },
  {
    ...{ table: "recovery_kits", key: ["id"], without: ["ready_at"] },
    freed: { state: "'canceled'", ended_at: "coalesce(ended_at, now())", key_epoch: "null" },
  },
  { table: "taxpayers", key: ["id"], freed: { deleted_at: "coalesce(deleted_at, now())" } },
  {
    table: "sources",
    key: ["id"],
    without: [
      ...["last_snapshot_id", "last_snapshot_status", "last_snapshot_completed_at", "last_good_at", "size_bytes"],
      "overdue_at",
    ],
    freed: { name: "id::text" },
  },
  { table: "retention_policies", key: ["vault_id", "source_id"] },
  { table: "source_aliases", key: ["vault_id", "name"], ended: "delete" },
  { table: "source_writers", key: ["source_id", "kind", "writer_id"], ended: "delete" },
  {
    table: "agents",
    key: ["id"],
    without: ["last_seen_at", "last_snapshot_id", "last_result", "last_result_at", "last_failure_code"],
    ended: "set revoked_at = coalesce(revoked_at, now())",
    freed: { revoked_at: "coalesce(revoked_at, now())" },
  },
  { table: "agent_vaults", key: ["agent_id", "vault_id"], ended: "set removed_at = coalesce(removed_at, now())" },
];

/** Rows of the platform: those without an account. */
export const platformTables: readonly RecordedTable[] = [
  people,
  { table: "credentials", key: ["person_id"], without: ["sealed_totp_next"] },
  { table: "recovery_codes", key: ["person_id", "code_hash"], ended: "delete" },
  { table: "oauth_clients", key: ["id"], ended: "set revoked_at = coalesce(revoked_at, now())" },
  { table: "first_run", key: ["id"] },
  { table: "receipt_keys", key: ["number"] },
];

/** Tables of the platform that have no column for an account. */
export const withoutAccount: ReadonlySet<string> = new Set(["first_run", "receipt_keys"]);
