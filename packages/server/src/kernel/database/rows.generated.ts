// The rows of the schema as the migrations leave it. Made by `npm run generate`; do not edit.

import type { ColumnType, Generated, GeneratedAlways } from "kysely";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export interface Database {
  readonly account_changes: AccountChangesRow;
  readonly account_entitlements: AccountEntitlementsRow;
  readonly account_limits: AccountLimitsRow;
  readonly account_records: AccountRecordsRow;
  readonly accounts: AccountsRow;
  readonly agent_vaults: AgentVaultsRow;
  readonly agents: AgentsRow;
  readonly applications: ApplicationsRow;
  readonly attempts: AttemptsRow;
  readonly audit_checkpoints: AuditCheckpointsRow;
  readonly audit_checks: AuditChecksRow;
  readonly audit_exports: AuditExportsRow;
  readonly audit_heads: AuditHeadsRow;
  readonly audit_identities: AuditIdentitiesRow;
  readonly audit_records: AuditRecordsRow;
  readonly audit_shares: AuditSharesRow;
  readonly bans: BansRow;
  readonly catalog_claims: CatalogClaimsRow;
  readonly catalog_damaged_items: CatalogDamagedItemsRow;
  readonly catalog_frames: CatalogFramesRow;
  readonly catalog_held: CatalogHeldRow;
  readonly catalog_hooks: CatalogHooksRow;
  readonly catalog_items: CatalogItemsRow;
  readonly catalog_owners: CatalogOwnersRow;
  readonly catalog_packs: CatalogPacksRow;
  readonly catalog_pins: CatalogPinsRow;
  readonly catalog_reservations: CatalogReservationsRow;
  readonly catalog_revoked_writers: CatalogRevokedWritersRow;
  readonly catalog_sessions: CatalogSessionsRow;
  readonly catalog_snapshots: CatalogSnapshotsRow;
  readonly catalog_units: CatalogUnitsRow;
  readonly catalog_uploads: CatalogUploadsRow;
  readonly catalogs: CatalogsRow;
  readonly credentials: CredentialsRow;
  readonly devices: DevicesRow;
  readonly download_links: DownloadLinksRow;
  readonly erasures: ErasuresRow;
  readonly event_heads: EventHeadsRow;
  readonly events: EventsRow;
  readonly file_sessions: FileSessionsRow;
  readonly file_uploads: FileUploadsRow;
  readonly first_run: FirstRunRow;
  readonly idempotency_keys: IdempotencyKeysRow;
  readonly invitations: InvitationsRow;
  readonly jobs: JobsRow;
  readonly limit_requests: LimitRequestsRow;
  readonly links: LinksRow;
  readonly oauth_artifacts: OauthArtifactsRow;
  readonly oauth_client_secrets: OauthClientSecretsRow;
  readonly oauth_clients: OauthClientsRow;
  readonly oauth_user_code_tries: OauthUserCodeTriesRow;
  readonly otp_challenges: OtpChallengesRow;
  readonly packages: PackagesRow;
  readonly pending_acts: PendingActsRow;
  readonly people: PeopleRow;
  readonly phone_messages: PhoneMessagesRow;
  readonly projected_grams: ProjectedGramsRow;
  readonly projected_paths: ProjectedPathsRow;
  readonly projected_snapshots: ProjectedSnapshotsRow;
  readonly projected_versions: ProjectedVersionsRow;
  readonly projections: ProjectionsRow;
  readonly receipt_keys: ReceiptKeysRow;
  readonly recovery_codes: RecoveryCodesRow;
  readonly recovery_kits: RecoveryKitsRow;
  readonly restore_orders: RestoreOrdersRow;
  readonly restore_parts: RestorePartsRow;
  readonly restore_warnings: RestoreWarningsRow;
  readonly restores: RestoresRow;
  readonly retention_policies: RetentionPoliciesRow;
  readonly root_key: RootKeyRow;
  readonly sandbox_clock: SandboxClockRow;
  readonly second_factor_resets: SecondFactorResetsRow;
  readonly sessions: SessionsRow;
  readonly signing_keys: SigningKeysRow;
  readonly snapshot_file_parts: SnapshotFilePartsRow;
  readonly snapshot_files: SnapshotFilesRow;
  readonly snapshots: SnapshotsRow;
  readonly source_aliases: SourceAliasesRow;
  readonly source_writers: SourceWritersRow;
  readonly sources: SourcesRow;
  readonly store_beat: StoreBeatRow;
  readonly taxpayers: TaxpayersRow;
  readonly uploads: UploadsRow;
  readonly vault_usage: VaultUsageRow;
  readonly vaults: VaultsRow;
  readonly webhook_deliveries: WebhookDeliveriesRow;
  readonly webhook_hours: WebhookHoursRow;
  readonly webhook_queues: WebhookQueuesRow;
  readonly webhook_secrets: WebhookSecretsRow;
  readonly webhook_wakeups: WebhookWakeupsRow;
  readonly webhooks: WebhooksRow;
}

export interface AccountChangesRow {
  readonly id: GeneratedAlways<number>;
  readonly account_id: string | null;
}

export interface AccountEntitlementsRow {
  readonly account_id: string;
  readonly entitlement: string;
  readonly enabled: boolean;
}

export interface AccountLimitsRow {
  readonly account_id: string;
  readonly policy: string;
  readonly rate_limit: number;
  readonly window_s: number;
  readonly burst: number;
  readonly set_at: Date;
}

export interface AccountRecordsRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly generation: number;
}

export interface AccountsRow {
  readonly id: string;
  readonly kind: "accounting_office" | "company";
  readonly name: string;
  readonly tax_id: string;
  readonly package: string;
  readonly state: "active" | "suspended" | "closed";
  readonly early_access: Generated<boolean>;
  readonly sms_sign_in: Generated<boolean>;
  readonly language: "tr" | "en";
  readonly application_id: string | null;
  readonly state_changed_at: Date;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly erase_after: Date | null;
  readonly erased_at: Date | null;
}

export interface AgentVaultsRow {
  readonly agent_id: string;
  readonly vault_id: string;
  readonly account_id: string;
  readonly registration: Buffer;
  readonly registered_at: Date;
  readonly removed_at: Date | null;
  readonly revocation_recorded_at: Date | null;
}

export interface AgentsRow {
  readonly id: string;
  readonly account_id: string;
  readonly writer_kind: "agent" | "client";
  readonly writer_id: string;
  readonly name: string;
  readonly host: string | null;
  readonly os: string | null;
  readonly software_version: string | null;
  readonly public_key: Buffer;
  readonly allow_overwrite: Generated<boolean>;
  readonly roots: Generated<readonly string[]>;
  readonly last_seen_at: Date | null;
  readonly last_snapshot_id: string | null;
  readonly last_result: "completed" | "failed" | "canceled" | null;
  readonly last_result_at: Date | null;
  readonly created_by: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revoked_at: Date | null;
  readonly last_failure_code: string | null;
}

export interface ApplicationsRow {
  readonly id: string;
  readonly status: "submitted" | "under_review" | "approved" | "rejected" | "withdrawn";
  readonly kind: "accounting_office" | "company";
  readonly full_name: string;
  readonly email: string;
  readonly email_key: string;
  readonly phone: string;
  readonly company_name: string;
  readonly tax_id: string;
  readonly package: "starter" | "professional" | "accountant" | "corporate";
  readonly note: string | null;
  readonly consents: ColumnType<JsonValue, string, string>;
  readonly language: "tr" | "en";
  readonly duplicate_of: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
}

export interface AttemptsRow {
  readonly id: Buffer;
  readonly consecutive: number;
  readonly day_started_at: Date;
  readonly day_count: number;
  readonly locked_until: Date | null;
  readonly updated_at: Date;
}

export interface AuditCheckpointsRow {
  readonly chain: string;
  readonly account_id: string | null;
  readonly seq: number;
  readonly hash: Buffer;
  readonly reason: "hourly" | "export" | "act";
  readonly jws: string;
  readonly made_at: Date;
  readonly stored_at: Date | null;
  readonly time_stamp: Buffer | null;
}

export interface AuditChecksRow {
  readonly chain: string;
  readonly account_id: string | null;
  readonly records: number;
  readonly checked_at: Date;
  readonly bad_seq: number | null;
  readonly finding: string | null;
}

export interface AuditExportsRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly chain: string;
  readonly format: "ndjson" | "csv" | "cef" | "json";
  readonly from_time: Date | null;
  readonly to_time: Date | null;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly opening: string;
  readonly closing: string;
  readonly identities: Buffer | null;
  readonly statement: string | null;
  readonly size_bytes: number | null;
  readonly gzip_bytes: number | null;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export interface AuditHeadsRow {
  readonly chain: string;
  readonly account_id: string | null;
  readonly seq: number;
  readonly hash: Buffer;
  readonly prev_hash: Buffer | null;
}

export interface AuditIdentitiesRow {
  readonly person_id: string;
  readonly account_id: string;
  readonly sealed_key: Buffer | null;
  readonly sealed_identity: Buffer | null;
  readonly changed_at: Date;
  readonly erased_at: Date | null;
}

export interface AuditRecordsRow {
  readonly chain: string;
  readonly account_id: string | null;
  readonly seq: number;
  readonly id: string;
  readonly occurred_at: Date;
  readonly action: string;
  readonly actor: ColumnType<JsonValue, string, string>;
  readonly targets: ColumnType<JsonValue, string, string>;
  readonly context: ColumnType<JsonValue, string, string>;
  readonly outcome: "success" | "failure";
  readonly metadata: ColumnType<JsonValue, string, string>;
  readonly prev_hash: Buffer;
  readonly hash: Buffer;
  readonly actor_id: GeneratedAlways<string | null>;
}

export interface AuditSharesRow {
  readonly id: string;
  readonly account_id: string;
  readonly token_hash: Buffer;
  readonly label: string;
  readonly filter: ColumnType<JsonValue, string, string>;
  readonly shows_persons: boolean;
  readonly shows_paths: boolean;
  readonly created_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly revoked_at: Date | null;
  readonly revoked_by: string | null;
}

export interface BansRow {
  readonly id: string;
  readonly kind: "client" | "session" | "address";
  readonly subject: string;
  readonly account_id: string | null;
  readonly cause: "pattern" | "staff";
  readonly reason: string | null;
  readonly created_by: string | null;
  readonly expires_at: Date | null;
  readonly lifted_at: Date | null;
  readonly lifted_by: string | null;
  readonly lift_reason: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export interface CatalogClaimsRow {
  readonly session: number;
  readonly nonce: number;
  readonly vault: number;
  readonly open: boolean;
}

export interface CatalogDamagedItemsRow {
  readonly frame: number;
  readonly vault: number;
  readonly ordinal: number;
}

export interface CatalogFramesRow {
  readonly frame: number;
  readonly session: number;
  readonly record: number;
  readonly place: number;
  readonly length: number;
  readonly vault: number;
  readonly generation: number;
  readonly slots: number;
  readonly is_meta: boolean;
  readonly damaged: boolean;
  readonly pack: string;
  readonly frame_id: Buffer;
  readonly block_list: Buffer;
}

export interface CatalogHeldRow {
  readonly session: number;
  readonly vault: number;
  readonly ordinals: Buffer;
  readonly is_own: Generated<boolean>;
}

export interface CatalogHooksRow {
  readonly hook: number;
  readonly vault: number;
  readonly owner: number;
  readonly ordinal: number;
}

export interface CatalogItemsRow {
  readonly record: number;
  readonly ordinal: number;
  readonly next: number;
  readonly vault: number;
  readonly owner: number;
  readonly is_node: boolean;
  readonly verified: boolean;
  readonly id: Buffer;
  readonly recipe: Buffer;
}

export interface CatalogOwnersRow {
  readonly owner: GeneratedAlways<number>;
  readonly vault: number;
  readonly name: string;
}

export interface CatalogPacksRow {
  readonly session: number;
  readonly size: number;
  readonly marking: number;
  readonly vault: number;
  readonly state: "live" | "condemned" | "deleting";
  readonly pack: string;
}

export interface CatalogPinsRow {
  readonly session: number;
  readonly vault: number;
  readonly pack: string;
}

export interface CatalogReservationsRow {
  readonly session: number;
  readonly request: number;
  readonly first: number;
  readonly after: number;
  readonly vault: number;
}

export interface CatalogRevokedWritersRow {
  readonly from_session: number;
  readonly vault: number;
  readonly writer: string;
}

export interface CatalogSessionsRow {
  readonly session: number;
  readonly vault: number;
  readonly header: Buffer;
}

export interface CatalogSnapshotsRow {
  readonly session: number;
  readonly started: number;
  readonly completed: number;
  readonly size: number;
  readonly files: number;
  readonly warnings: number;
  readonly stored: number;
  readonly changes: number;
  readonly expires: number | null;
  readonly locked: number | null;
  readonly root_ordinal: number;
  readonly vault: number;
  readonly hold: boolean;
  readonly id: string;
  readonly source: string;
  readonly status: "completed" | "recovered" | "deleting";
  readonly root_id: Buffer;
  readonly reach: Buffer;
  readonly owner: number | null;
}

export interface CatalogUnitsRow {
  readonly session: number;
  readonly number: number;
  readonly vault: number;
}

export interface CatalogUploadsRow {
  readonly session: number;
  readonly lease: number;
  readonly vault: number;
  readonly owner: number;
  readonly upload: string;
  readonly scope: "vault" | "lineage";
  readonly reach: Buffer;
  readonly is_own_base: Generated<boolean>;
}

export interface CatalogsRow {
  readonly vault: GeneratedAlways<number>;
  readonly vault_id: string;
  readonly account_id: string;
  readonly catalog_id: number;
  readonly revision: Generated<number>;
  readonly next_ordinal: Generated<number>;
  readonly next_session: Generated<number>;
  readonly stale: Generated<boolean>;
  readonly chain_sequence: Generated<number>;
  readonly chain_hash: Generated<Buffer>;
  readonly epoch: Generated<number>;
  readonly damage_searched: number | null;
}

export interface CredentialsRow {
  readonly person_id: string;
  readonly account_id: string | null;
  readonly password_hash: string;
  readonly password_changed_at: Date;
  readonly sealed_totp: Buffer;
  readonly totp_last_step: Generated<number>;
  readonly sealed_totp_next: Buffer | null;
  readonly updated_at: Date;
  readonly changed_at: Date;
}

export interface DevicesRow {
  readonly token_hash: Buffer;
  readonly person_id: string;
  readonly account_id: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date;
}

export interface DownloadLinksRow {
  readonly id: string;
  readonly account_id: string;
  readonly token_hash: Buffer;
  readonly session_id: string;
  readonly scopes: readonly string[];
  readonly snapshot_id: string | null;
  readonly path: Buffer | null;
  readonly format: "tar" | "zip" | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly used_at: Date | null;
  readonly cookie_hash: Buffer | null;
  readonly restore_id: string | null;
}

export interface ErasuresRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly cause: "vault_deletion" | "taxpayer_deletion" | "account_closing";
  readonly act_id: string;
  readonly ordered_by: string;
  readonly due_at: Date;
  readonly state: "erasing" | "erased";
  readonly key_objects: number;
  readonly objects: number;
  readonly bytes: number;
  readonly snapshots: number;
  readonly created_at: Date;
  readonly keys_destroyed_at: Date | null;
  readonly erased_at: Date | null;
  readonly proof: string | null;
  readonly checked_at: Date | null;
  readonly sealed: Buffer | null;
}

export interface EventHeadsRow {
  readonly account_id: string;
  readonly sequence: number;
  readonly expired_through: Generated<number>;
  readonly has_subscribers: Generated<boolean>;
}

export interface EventsRow {
  readonly account_id: string;
  readonly sequence: number;
  readonly id: string;
  readonly type: string;
  readonly payload: string;
  readonly created_at: Date;
  readonly vault_id: string | null;
}

export interface FileSessionsRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly upload: string;
}

export interface FileUploadsRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly path_hash: Buffer;
  readonly path_key: Buffer;
  readonly content_id: string;
  readonly length_bytes: number;
  readonly offset_bytes: Generated<number>;
  readonly stripe_count: Generated<number>;
  readonly tail: Buffer | null;
  readonly page_bytes: number | null;
  readonly page_phase: number | null;
  readonly mode: number;
  readonly mtime_seconds: number | null;
  readonly mtime_nanos: number | null;
}

export interface FirstRunRow {
  readonly id: number;
  readonly sealed: Buffer;
  readonly created_at: Date;
}

export interface IdempotencyKeysRow {
  readonly id: Buffer;
  readonly account_id: string | null;
  readonly operation: string;
  readonly fingerprint: Buffer | null;
  readonly sealed_reply: Buffer | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly claim: string | null;
}

export interface InvitationsRow {
  readonly id: string;
  readonly account_id: string;
  readonly address: Buffer;
  readonly again: boolean;
  readonly sent_at: Date;
}

export interface JobsRow {
  readonly id: string;
  readonly task: string;
  readonly key: string | null;
  readonly payload: ColumnType<JsonValue | null, string | null | undefined, string | null>;
  readonly attempt: Generated<number>;
  readonly crashes: Generated<number>;
  readonly run_at: Date;
  readonly created_at: Date;
  readonly failed_at: Date | null;
  readonly error_class: string | null;
  readonly error_code: string | null;
  readonly worker: number | null;
  readonly priority: Generated<number>;
  readonly exclusive_key: string | null;
  readonly canceled: Generated<boolean>;
  readonly progress: ColumnType<JsonValue | null, string | null | undefined, string | null>;
}

export interface LimitRequestsRow {
  readonly id: string;
  readonly account_id: string;
  readonly policy: string;
  readonly rate_limit: number;
  readonly window_s: number;
  readonly burst: number;
  readonly reason: string;
  readonly state: "pending" | "approved" | "rejected";
  readonly requested_by: string;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly decided_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export interface LinksRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly person_id: string | null;
  readonly application_id: string | null;
  readonly purpose: "enrolment" | "password_reset" | "second_factor_reset" | "withdrawal";
  readonly token_hash: Buffer;
  readonly sealed_totp: Buffer | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly spent_at: Date | null;
}

export interface OauthArtifactsRow {
  readonly kind: string;
  readonly id_hash: Buffer;
  readonly grant_id: string | null;
  readonly user_code_hash: Buffer | null;
  readonly uid_hash: Buffer | null;
  readonly sealed_payload: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly consumed_at: Date | null;
  readonly polled_at: Date | null;
  readonly poll_interval_s: number | null;
}

export interface OauthClientSecretsRow {
  readonly id: string;
  readonly client_id: string;
  readonly account_id: string | null;
  readonly secret_hash: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly created_by: string | null;
}

export interface OauthClientsRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly kind: "api" | "agent";
  readonly name: string;
  readonly auth_method: "client_secret" | "private_key_jwt" | "none";
  readonly grant_types: readonly string[];
  readonly redirect_uris: Generated<readonly string[]>;
  readonly scopes: readonly string[];
  readonly vault_ids: readonly string[] | null;
  readonly jwks: ColumnType<JsonValue | null, string | null | undefined, string | null>;
  readonly created_by: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
  readonly version: Generated<number>;
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | null;
  readonly responsible_id: string | null;
  readonly review_since: Date | null;
}

export interface OauthUserCodeTriesRow {
  readonly id: Buffer;
  readonly failures: number;
  readonly started_at: Date;
}

export interface OtpChallengesRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly person_id: string | null;
  readonly purpose: "sign_in" | "step_up" | "phone";
  readonly code_hash: Buffer;
  readonly phone: string | null;
  readonly link_id: string | null;
  readonly tries_left: number;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly used_at: Date | null;
}

export interface PackagesRow {
  readonly name: string;
  readonly rank: number;
  readonly entitlements: readonly string[];
  readonly requests_per_minute: number;
  readonly burst: number;
}

export interface PendingActsRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly kind: "policy_change" | "hold_release" | "acceptance" | "source_deletion" | "taxpayer_deletion" | "vault_deletion" | "account_closing";
  readonly source_id: string | null;
  readonly snapshot_id: string | null;
  readonly taxpayer_id: string | null;
  readonly policy: ColumnType<JsonValue | null, string | null | undefined, string | null>;
  readonly state: "waiting" | "done" | "canceled" | "refused";
  readonly created_by: string;
  readonly canceled_by: string | null;
  readonly created_at: Date;
  readonly due_at: Date;
  readonly ended_at: Date | null;
}

export interface PeopleRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | "staff";
  readonly state: "invited" | "active" | "removed";
  readonly email: string;
  readonly email_key: string;
  readonly full_name: string;
  readonly phone: string | null;
  readonly phone_verified_at: Date | null;
  readonly language: "tr" | "en";
  readonly invited_by: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
}

export interface PhoneMessagesRow {
  readonly id: Buffer;
  readonly sent_at: Date;
}

export interface ProjectedGramsRow {
  readonly vault: number;
  readonly block: number;
  readonly gram: number;
  readonly offsets: Buffer;
}

export interface ProjectedPathsRow {
  readonly source_id: string;
  readonly vault: number;
  readonly path: number;
  readonly key: Buffer;
  readonly sealed: Buffer;
}

export interface ProjectedSnapshotsRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly source_id: string;
  readonly created_at: Date;
  readonly wanted: boolean;
  readonly state: "waiting" | "applying" | "contained" | "removing" | "skipped";
  readonly done: Generated<number>;
  readonly failed_at: Date | null;
}

export interface ProjectedVersionsRow {
  readonly since: string;
  readonly until: string | null;
  readonly size_bytes: number | null;
  readonly mtime_seconds: number;
  readonly mtime_nanos: number;
  readonly vault: number;
  readonly path: number;
  readonly mode: number;
  readonly type: "f" | "d" | "l";
  readonly hash: Buffer | null;
}

export interface ProjectionsRow {
  readonly vault: GeneratedAlways<number>;
  readonly vault_id: string;
  readonly account_id: string;
  readonly sealed_key: Buffer;
  readonly next_path: Generated<number>;
  readonly is_clearing: Generated<boolean>;
}

export interface ReceiptKeysRow {
  readonly number: number;
  readonly kid: string;
  readonly public_key: Buffer;
  readonly sealed_private: Buffer | null;
  readonly introduction: string | null;
  readonly created_at: Date;
}

export interface RecoveryCodesRow {
  readonly person_id: string;
  readonly account_id: string | null;
  readonly code_hash: Buffer;
  readonly used_at: Date | null;
}

export interface RecoveryKitsRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly state: "waiting" | "delivered" | "canceled";
  readonly created_by: string;
  readonly created_at: Date;
  readonly ready_at: Generated<Date>;
  readonly ended_by: string | null;
  readonly ended_at: Date | null;
  readonly key_epoch: number | null;
}

export interface RestoreOrdersRow {
  readonly restore_id: string;
  readonly account_id: string;
  readonly agent_id: string;
  readonly path: string | null;
  readonly on_conflict: "rename" | "skip" | "overwrite";
  readonly planned_at: Date | null;
  readonly reach: Buffer | null;
  readonly run_id: string | null;
  readonly reported_at: Date | null;
  readonly damaged_count: Generated<number>;
}

export interface RestorePartsRow {
  readonly restore_id: string;
  readonly account_id: string;
  readonly part: number;
  readonly member_offset: number;
  readonly directory_offset: number;
  readonly root: number;
  readonly after_path: Buffer | null;
  readonly entries: number;
  readonly checksums: Buffer | null;
  readonly left_out: readonly number[];
  readonly link_places: readonly number[];
  readonly link_targets: readonly Buffer[];
}

export interface RestoreWarningsRow {
  readonly restore_id: string;
  readonly account_id: string;
  readonly number: number;
  readonly path: Buffer;
  readonly code: "content_damaged" | "entries_unreadable" | "skipped" | "renamed" | "not_written";
}

export interface RestoresRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly snapshot_id: string;
  readonly paths: readonly Buffer[] | null;
  readonly target_kind: "download" | "agent";
  readonly format: "tar" | "zip" | null;
  readonly on_damage: "fail" | "skip";
  readonly state: "pending" | "running" | "completed" | "failed" | "canceled";
  readonly failure_code: "content_damaged" | "snapshot_deleted" | "canceled" | "agent_absent" | "agent_revoked" | "target_refused" | "target_full" | "write_failed" | "internal" | null;
  readonly bytes_total: number;
  readonly files_total: number;
  readonly bytes_restored: Generated<number>;
  readonly files_restored: Generated<number>;
  readonly warning_count: Generated<number>;
  readonly left_out_nodes: Generated<readonly number[]>;
  readonly layout: number | null;
  readonly member_bytes: number | null;
  readonly directory_bytes: number | null;
  readonly member_count: number | null;
  readonly escaped_names: number | null;
  readonly archive_bytes: number | null;
  readonly job_id: string | null;
  readonly created_by_kind: "client" | "agent" | "member";
  readonly created_by_id: string;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly expires_at: Date | null;
  readonly version: Generated<number>;
}

export interface RetentionPoliciesRow {
  readonly account_id: string;
  readonly vault_id: string;
  readonly source_id: string | null;
  readonly keep_last: number | null;
  readonly keep_hourly: number | null;
  readonly keep_daily: number | null;
  readonly keep_weekly: number | null;
  readonly keep_monthly: number | null;
  readonly keep_yearly: number | null;
  readonly keep_within_days: number | null;
  readonly floor_days: number | null;
  readonly ceiling_days: number | null;
  readonly updated_at: Date;
  readonly version: Generated<number>;
}

export interface RootKeyRow {
  readonly id: number;
  readonly wrapped: Buffer;
  readonly wrapped_by: string;
  readonly created_at: Date;
  readonly wrapped_at: Date;
}

export interface SandboxClockRow {
  readonly id: number;
  readonly offset_ms: number;
}

export interface SecondFactorResetsRow {
  readonly id: string;
  readonly account_id: string;
  readonly person_id: string;
  readonly requested_by: string;
  readonly reason: string;
  readonly created_at: Date;
  readonly effective_at: Date;
  readonly state: "waiting" | "done" | "canceled";
  readonly decided_by: string | null;
  readonly decided_at: Date | null;
}

export interface SessionsRow {
  readonly id: string;
  readonly account_id: string | null;
  readonly person_id: string | null;
  readonly client_id: string | null;
  readonly kind: "api" | "dashboard" | "agent";
  readonly scopes: readonly string[] | null;
  readonly amr: readonly string[];
  readonly auth_time: Date;
  readonly generation: Generated<number>;
  readonly refresh_hash: Buffer | null;
  readonly rotated_at: Date | null;
  readonly created_at: Date;
  readonly last_used_at: Date;
  readonly idle_expires_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly revoked_reason: string | null;
  readonly review_since: Date | null;
}

export interface SigningKeysRow {
  readonly kid: string;
  readonly public_jwk: ColumnType<JsonValue, string, string>;
  readonly sealed_private: Buffer;
  readonly created_at: Date;
  readonly active_at: Date;
  readonly retired_at: Date | null;
  readonly expires_at: Date | null;
}

export interface SnapshotFilePartsRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly content_id: string;
  readonly part: number;
  readonly content: Buffer;
}

export interface SnapshotFilesRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly path_hash: Buffer;
  readonly path_key: Buffer;
  readonly kind: "file" | "directory";
  readonly content_id: string | null;
  readonly size_bytes: number | null;
  readonly hash: Buffer | null;
  readonly sha256: Buffer | null;
  readonly mode: number | null;
  readonly mtime_seconds: number | null;
  readonly mtime_nanos: number | null;
  readonly received_at: Date | null;
}

export interface SnapshotsRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly source_id: string;
  readonly state: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | "deleted";
  readonly upload_kind: "one_call" | "upload" | "files";
  readonly label: string | null;
  readonly trigger: "manual" | "api" | "schedule" | "e_archive";
  readonly external_reference: string | null;
  readonly metadata: ColumnType<JsonValue, string | undefined, string>;
  readonly created_by_kind: "client" | "agent" | "member";
  readonly created_by_id: string;
  readonly is_write_only: boolean;
  readonly parent_id: string | null;
  readonly stored_bytes: Generated<number>;
  readonly size_bytes: number | null;
  readonly file_count: number | null;
  readonly warning_count: number | null;
  readonly root_hash: Buffer | null;
  readonly failure_code: "upload_abandoned" | "upload_interrupted" | "quota_exceeded" | "storage_full" | "invalid_archive" | "content_mismatch" | "verification_failed" | "canceled" | "internal" | null;
  readonly failure_reason: string | null;
  readonly verified_at: Date | null;
  readonly verification_failed_at: Date | null;
  readonly expires_at: Date | null;
  readonly locked_until: Date | null;
  readonly legal_hold: Generated<boolean>;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly completed_at: Date | null;
  readonly active_at: Date;
  readonly alive_at: Date | null;
  readonly deleted_state: "completed" | "failed" | "canceled" | "expired" | null;
  readonly deleted_at: Date | null;
  readonly version: Generated<number>;
  readonly removed_at: Date | null;
  readonly pruned_at: Date | null;
  readonly closed_at: Date | null;
  readonly draft: Buffer | null;
  readonly draft_upload: string | null;
  readonly has_files: Generated<boolean>;
  readonly hold_reason: string | null;
  readonly hold_review_at: Date | null;
  readonly held_by: string | null;
  readonly held_at: Date | null;
  readonly assessed_at: Date | null;
  readonly suspicious_at: Date | null;
  readonly lost_files: number | null;
  readonly changed_files: number | null;
  readonly accepted_at: Date | null;
  readonly expired_at: Date | null;
  readonly read_until: Date | null;
  readonly hold_review_mailed_at: Date | null;
  readonly verify_job_id: string | null;
}

export interface SourceAliasesRow {
  readonly vault_id: string;
  readonly name: string;
  readonly account_id: string;
  readonly source_id: string;
  readonly created_at: Date;
}

export interface SourceWritersRow {
  readonly source_id: string;
  readonly kind: "client" | "agent" | "member";
  readonly writer_id: string;
  readonly account_id: string;
  readonly bound_by: string | null;
  readonly bound_at: Date;
}

export interface SourcesRow {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly name: string;
  readonly name_order: string;
  readonly kind: "files" | "database" | "e_archive" | "other";
  readonly expected_every_s: number | null;
  readonly last_snapshot_id: string | null;
  readonly last_snapshot_status: string | null;
  readonly last_snapshot_completed_at: Date | null;
  readonly last_good_at: Date | null;
  readonly size_bytes: number | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly overdue_at: Date | null;
  readonly deleted_at: Date | null;
}

export interface StoreBeatRow {
  readonly id: number;
  readonly beat: number;
}

export interface TaxpayersRow {
  readonly id: string;
  readonly account_id: string;
  readonly tax_id: string;
  readonly name: string;
  readonly name_order: string;
  readonly state: "active" | "archived";
  readonly vault_id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly deleted_at: Date | null;
}

export interface UploadsRow {
  readonly snapshot_id: string;
  readonly account_id: string;
  readonly vault_id: string;
  readonly agent_id: string;
  readonly reserved_bytes: Generated<number>;
  readonly item_count: Generated<number>;
  readonly begun_at: Date;
}

export interface VaultUsageRow {
  readonly vault_id: string;
  readonly day: string;
  readonly account_id: string;
  readonly stored_bytes: number;
  readonly size_bytes: number;
}

export interface VaultsRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly name_order: string;
  readonly kind: "default" | "taxpayer" | "other";
  readonly taxpayer_id: string | null;
  readonly quota_bytes: number | null;
  readonly quota_warning_bytes: number | null;
  readonly stored_bytes: Generated<number>;
  readonly quota_warned: Generated<boolean>;
  readonly has_catalog: Generated<boolean>;
  readonly keys_made_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly last_verified_at: Date | null;
  readonly last_verified_files: number | null;
  readonly last_verified_failed: number | null;
  readonly deleted_at: Date | null;
  readonly retention_applied_at: Date | null;
  readonly upkeep_paused_at: Date | null;
  readonly upkeep_begun_at: Date | null;
  readonly scrub_slice: Generated<number>;
  readonly scrubbed_at: Date | null;
  readonly scrub_round_ended_at: Date | null;
  readonly scrubbed_packs: Generated<number>;
  readonly scrub_findings: Generated<number>;
  readonly healed_at: Date | null;
  readonly healed_frames: Generated<number>;
  readonly damaged_frames: Generated<number>;
  readonly repacked_at: Date | null;
  readonly repacked_packs: Generated<number>;
  readonly erasing_at: Date | null;
  readonly key_epoch: Generated<number>;
  readonly keys_rotated_at: Date | null;
  readonly erasure_asked_at: Date | null;
}

export interface WebhookDeliveriesRow {
  readonly id: string;
  readonly account_id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly sequence: number;
  readonly event_type: string;
  readonly kind: "event" | "test" | "replay";
  readonly place: GeneratedAlways<number>;
  readonly state: Generated<"pending" | "retrying" | "delivered" | "failed">;
  readonly attempt_count: Generated<number>;
  readonly attempts: ColumnType<JsonValue, string | undefined, string>;
  readonly is_manual: Generated<boolean>;
  readonly due_at: Date | null;
  readonly next_attempt_at: Date | null;
  readonly last_attempt_at: Date | null;
  readonly created_at: Date;
}

export interface WebhookHoursRow {
  readonly webhook_id: string;
  readonly account_id: string;
  readonly hour: Date;
  readonly delivered: number;
  readonly failed: number;
  readonly durations: readonly number[];
}

export interface WebhookQueuesRow {
  readonly webhook_id: string;
  readonly account_id: string;
  readonly due_at: Date | null;
  readonly worker: string | null;
  readonly leased_until: Date | null;
}

export interface WebhookSecretsRow {
  readonly webhook_id: string;
  readonly number: number;
  readonly account_id: string;
  readonly sealed: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date | null;
}

export interface WebhookWakeupsRow {
  readonly id: number;
  readonly notified_at: Date;
}

export interface WebhooksRow {
  readonly id: string;
  readonly account_id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly vault_ids: readonly string[] | null;
  readonly state: Generated<"enabled" | "disabled">;
  readonly disabled_reason: "requested" | "delivery_failed" | "gone" | "creator_lost_access" | null;
  readonly disabled_at: Date | null;
  readonly member_id: string | null;
  readonly client_id: string | null;
  readonly failing_since: Date | null;
  readonly warned_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: Generated<number>;
  readonly removed_at: Date | null;
}
