// GENERATED from openapi.json by `npm run generate`. Do not edit.

/** The version of the API that this client was made from. */
export const apiVersion = "0.1.0";

export interface Accepted {
  readonly accepted: boolean;
}

export interface AccessToken {
  /** JWT. Keep it in memory. */
  readonly access_token: string;
  /** The scheme of the `Authorization` header. */
  readonly token_type: "Bearer";
  /** Seconds. */
  readonly expires_in: number;
}

export interface Account {
  /** Id of the account. */
  readonly id: string;
  /** The kind of customer. */
  readonly kind: "accounting_office" | "company" | (string & {});
  /** Name of the office or company. */
  readonly name: string;
  /** Tax number; only its last four digits are shown. */
  readonly tax_id: string;
  /** The package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate" | (string & {});
  /** The features that the account may use: those of its package, with the overrides of this account. */
  readonly entitlements: readonly string[];
  /** A suspended account can read and restore, but not write; a closed one too, until `erase_after`. */
  readonly state: "active" | "suspended" | "closed" | (string & {});
  readonly erase_after: string | null;
  /** Planned limits never refuse, and webhooks are off. */
  readonly early_access: boolean;
  /** SMS codes can replace the authenticator at sign-in. */
  readonly sms_sign_in: boolean;
  /** Language of mails and messages. */
  readonly language: "tr" | "en" | (string & {});
  /** When the account was created. */
  readonly created_at: string;
  readonly version: number;
}

export interface AccountChange {
  /** Name of the office or company. */
  readonly name?: string | undefined;
  /** Language of mails and messages. */
  readonly language?: "tr" | "en" | undefined;
  /** SMS codes can replace the authenticator. */
  readonly sms_sign_in?: boolean | undefined;
}

export interface AccountLimit {
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package";
  /** Requests in the window. */
  readonly limit: number;
  /** Length of the window, in seconds. */
  readonly window_s: number;
  /** Size of the bucket (only for policy `package`); default: twice the limit. */
  readonly burst?: number | undefined;
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
}

export interface AccountLimitReset {
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package";
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
}

export interface AccountLimitSet {
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package" | (string & {});
  /** Requests in the window. */
  readonly limit: number;
  /** Length of the window, in seconds. */
  readonly window_s: number;
  /** Size of the bucket (only for policy `package`); default: twice the limit. */
  readonly burst?: number | undefined;
}

export interface AccountSuspended {
  /** The type of the event. */
  readonly event: "account.suspended";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** Why. */
  readonly reason: "unpaid" | "abuse" | "security" | "request" | "other" | (string & {});
}

export interface AdminAccountPage {
  readonly data: readonly Account[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminApplication {
  /** Id of the application. */
  readonly id: string;
  /** State of the application. */
  readonly status: "submitted" | "under_review" | "approved" | "rejected" | "withdrawn" | (string & {});
  /** The kind of applicant. */
  readonly kind: "accounting_office" | "company" | (string & {});
  /** Name. */
  readonly full_name: string;
  /** E-mail address. */
  readonly email: string;
  /** Phone. */
  readonly phone: string;
  /** Name of the office or company. */
  readonly company_name: string;
  /** Tax number; only its last four digits are shown. */
  readonly tax_id: string;
  /** The requested package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate" | (string & {});
  readonly note: string | null;
  readonly duplicate_of: string | null;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  /** When it was submitted. */
  readonly created_at: string;
}

export interface AdminApplicationPage {
  readonly data: readonly AdminApplication[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminAuditChain {
  /** The id of an account, or `platform`. */
  readonly chain: string;
  /** Records of the chain. */
  readonly records: number;
  readonly last_checkpoint_seq: number | null;
  readonly checked_at: string | null;
  readonly bad_seq: number | null;
  readonly finding: string | null;
}

export interface AdminAuditPage {
  readonly data: readonly AdminAuditRecord[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminAuditRecord {
  /** Id of the record. */
  readonly id: string;
  /** The audit chain: the id of an account, or `platform`. */
  readonly chain: string;
  readonly seq: number;
  /** When. */
  readonly occurred_at: string;
  /** What. */
  readonly action: string;
  readonly actor: {
    /** Kind of the actor. `share`: an outside auditor with a share. */
    readonly kind: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | (string & {});
    /** Id of the actor. */
    readonly id?: string | undefined;
  };
  readonly targets: readonly ({
    /** Kind of the object. */
    readonly type: string;
    /** Its id. */
    readonly id: string;
  })[];
  readonly context: AuditContext;
  /** Result of the action. */
  readonly outcome: "success" | "failure" | (string & {});
  /** Data about the action, without personal data. */
  readonly metadata: { readonly [name: string]: unknown };
  /** The hash of the record before it, in hexadecimal digits. */
  readonly prev_hash: string;
  /** The hash of this record. */
  readonly hash: string;
}

export interface AdminBanPage {
  readonly data: readonly Ban[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminErasure {
  /** Id of the erasure. */
  readonly id: string;
  /** The vault. */
  readonly vault_id: string;
  /** What decided it. */
  readonly cause: "vault_deletion" | "taxpayer_deletion" | "account_closing" | (string & {});
  /** The act that decided it. */
  readonly act_id: string;
  /** The member who started the act. */
  readonly ordered_by: string;
  /** `erased`: nothing of the vault is left, and the proof is there. */
  readonly state: "erasing" | "erased" | (string & {});
  /** Objects of the vault in the object store when the erasure began. */
  readonly objects: number;
  /** Their bytes. */
  readonly bytes: number;
  /** When it began. From then on nobody reads the vault. */
  readonly created_at: string;
  readonly keys_destroyed_at: string | null;
  readonly erased_at: string | null;
  readonly proof: string | null;
  /** The account. */
  readonly account_id: string;
}

export interface AdminErasures {
  readonly data: readonly AdminErasure[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminJob {
  /** Id of the job. */
  readonly id: string;
  /** The kind of work. */
  readonly kind: string;
  /** `scheduled` until `run_at`, `queued` for a worker, `running`, or `failed` for good. */
  readonly state: "scheduled" | "queued" | "running" | "failed" | (string & {});
  /** Number of the current attempt, from 1. */
  readonly attempt: number;
  /** How many workers died while they ran the job. */
  readonly crashes: number;
  readonly last_error: {
    /** Class of the error. */
    readonly class: string;
    readonly code: string | null;
  } | null;
  /** When it was created. */
  readonly created_at: string;
  /** When it is or was due. */
  readonly run_at: string;
  readonly failed_at: string | null;
}

export interface AdminJobPage {
  readonly data: readonly AdminJob[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminLimitRequest {
  /** Id of the request. */
  readonly id: string;
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package" | (string & {});
  /** Requests in the window. */
  readonly limit: number;
  /** Length of the window, in seconds. */
  readonly window_s: number;
  /** Size of the bucket. */
  readonly burst: number;
  /** Why it is needed. */
  readonly reason: string;
  /** State of the application. */
  readonly state: "pending" | "approved" | "rejected" | (string & {});
  readonly decided_at: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** The account that requests the limit. */
  readonly account_id: string;
}

export interface AdminLimitRequestPage {
  readonly data: readonly AdminLimitRequest[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminMember {
  /** Id of the member. */
  readonly id: string;
  /** E-mail address. */
  readonly email: string;
  /** Name. */
  readonly full_name: string;
  /** The role of the member; see the table of roles. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | (string & {});
  /** `invited` until the person has used the enrolment link. */
  readonly state: "invited" | "active" | "removed" | (string & {});
  /** Whether codes can be sent by SMS. */
  readonly phone_verified: boolean;
  /** When they were invited. */
  readonly created_at: string;
  readonly version: number;
  /** The member's account. */
  readonly account_id: string;
}

export interface AdminMemberPage {
  readonly data: readonly AdminMember[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminOverview {
  readonly accounts: { readonly [name: string]: number };
  readonly applications: { readonly [name: string]: number };
}

export interface AdminRateLimit {
  /** The account. */
  readonly account_id: string;
  /** The limit. */
  readonly policy: "login" | "login_ip" | "sms_minute" | "sms_hour" | "applications" | "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "audit_shared_export" | "audit_shared_events" | "admin" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package" | "anonymous" | (string & {});
  /** Whether the limit refuses requests. */
  readonly mode: "enforce" | "shadow" | "off" | (string & {});
  /** Number of allowed requests. */
  readonly limit: number;
  /** Number of requests left. */
  readonly remaining: number;
  /** Used part in percent. */
  readonly used_percent: number;
  /** When the whole limit is available again. */
  readonly reset_at: string;
}

export interface AdminRateLimits {
  readonly data: readonly AdminRateLimit[];
}

export interface AdminRestore {
  /** Id of the restore. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault. */
  readonly vault_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Where the files go. */
  readonly target: "download" | "agent" | (string & {});
  /** How far it is. */
  readonly status: "pending" | "running" | "completed" | "failed" | "canceled" | (string & {});
  readonly failure: "content_damaged" | "snapshot_deleted" | "canceled" | "agent_absent" | "agent_revoked" | "target_refused" | "target_full" | "write_failed" | "internal" | (string & {}) | null;
  /** Bytes of the files that were asked for. */
  readonly bytes_total: number;
  /** Bytes of the files that were read so far. */
  readonly bytes_restored: number;
  /** Files that were asked for. */
  readonly files_total: number;
  /** Files that were read so far. */
  readonly files_restored: number;
  /** Files and directories that could not be read whole. */
  readonly warning_count: number;
  /** When it was accepted. */
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly expires_at: string | null;
}

export interface AdminRestorePage {
  readonly data: readonly AdminRestore[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminSnapshot {
  /** Id of the snapshot. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault. */
  readonly vault_id: string;
  /** The source. */
  readonly source_id: string;
  /** How far it is. */
  readonly status: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | (string & {});
  /** What started the backup. */
  readonly trigger: "manual" | "api" | "schedule" | "e_archive" | (string & {});
  readonly failure: "upload_abandoned" | "upload_interrupted" | "quota_exceeded" | "storage_full" | "invalid_archive" | "content_mismatch" | "verification_failed" | "canceled" | "internal" | (string & {}) | null;
  readonly writer: {
    /** What made it. */
    readonly kind: "client" | "agent" | "member" | (string & {});
    /** The OAuth client, the grant of the agent, or the member. */
    readonly id: string;
    readonly agent_id: string | null;
  };
  readonly size_bytes: number | null;
  /** What it added to storage. */
  readonly stored_bytes: number;
  readonly file_count: number | null;
  readonly warning_count: number | null;
  readonly verified_at: string | null;
  /** When it was created. */
  readonly created_at: string;
  readonly completed_at: string | null;
}

export interface AdminSnapshotPage {
  readonly data: readonly AdminSnapshot[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminWebhook {
  /** The webhook. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The host of its address, with its port. */
  readonly host: string;
  /** Nothing is sent to a disabled one. */
  readonly status: "enabled" | "disabled" | (string & {});
  readonly disabled_reason: "requested" | "delivery_failed" | "gone" | "creator_lost_access" | (string & {}) | null;
  readonly failing_since: string | null;
  /** When it was created. */
  readonly created_at: string;
}

export interface AdminWebhookDelivery {
  /** The account. */
  readonly account_id: string;
  /** The delivery. */
  readonly id: string;
  /** The webhook. */
  readonly webhook_id: string;
  /** The type of the event. */
  readonly event: string;
  /** The event; the `webhook-id` of every attempt. */
  readonly event_id: string;
  readonly sequence: number;
  /** Why it was made: an event, a test, or a replay of an event. */
  readonly kind: "event" | "test" | "replay" | (string & {});
  /** `retrying`: an attempt failed and there is a next one. `failed`: there is none. */
  readonly status: "pending" | "retrying" | "delivered" | "failed" | (string & {});
  /** Attempts of the schedule so far, of 7. */
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: WebhookAttempt | null;
  /** When the event happened, or was replayed. */
  readonly created_at: string;
}

export interface AdminWebhookDeliveryPage {
  readonly data: readonly AdminWebhookDelivery[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AdminWebhookPage {
  readonly data: readonly AdminWebhook[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Agent {
  /** Id of the agent. */
  readonly id: string;
  /** Name of the agent. */
  readonly name: string;
  readonly host: string | null;
  readonly os: string | null;
  readonly version: string | null;
  /** Whether the machine permits restores that overwrite files. */
  readonly allow_overwrite: boolean;
  /** The folders under which the machine permits restores. */
  readonly roots: readonly string[];
  /** The vaults that it may write to. */
  readonly vaults: readonly string[];
  /** Its Ed25519 key, base64. */
  readonly public_key: string;
  readonly writer: {
    /** `agent`: a device grant. `client`: an OAuth client of the account. */
    readonly kind: "agent" | "client" | (string & {});
    /** Id of the grant's session, or of the client. */
    readonly id: string;
  };
  readonly last_seen_at: string | null;
  /** Seen within the last 15 minutes. */
  readonly online: boolean;
  readonly last_result: {
    readonly snapshot_id: string | null;
    /** How its last upload ended. */
    readonly status: "completed" | "failed" | "canceled" | (string & {});
    readonly failure: string | null;
    /** When. */
    readonly at: string;
  } | null;
  /** The newest version of the agent. It is released with the service. */
  readonly newest_version: string;
  readonly created_by: string | null;
  /** When it was registered. */
  readonly created_at: string;
}

export interface AgentChange {
  /** Name of the agent. */
  readonly name?: string | undefined;
  readonly host?: string | null | undefined;
  readonly os?: string | null | undefined;
  readonly version?: string | null | undefined;
  /** Whether the machine permits restores that overwrite files. */
  readonly allow_overwrite?: boolean | undefined;
  /** The folders under which the machine permits restores. */
  readonly roots?: readonly string[] | undefined;
  /** The vaults that it may write to. */
  readonly vaults?: readonly string[] | undefined;
}

export interface AgentCreated {
  readonly agent: Agent;
  /** The writer's keys of each vault. They encrypt and cannot decrypt. */
  readonly keys: readonly AgentVaultKeys[];
}

export interface AgentKeys {
  /** The writer's keys of each vault. They encrypt and cannot decrypt. */
  readonly keys: readonly AgentVaultKeys[];
}

export interface AgentPage {
  readonly data: readonly Agent[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AgentRegistered {
  /** The type of the event. */
  readonly event: "agent.registered";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The agent. */
  readonly agent_id: string;
}

export interface AgentReplacement {
  /** The old agent. */
  readonly agent_id: string;
}

export interface AgentVaultKeys {
  /** The vault. */
  readonly vault_id: string;
  /** The agent's key, signed by the vault. Base64. Goes into every session header. */
  readonly registration: string;
  /** The newest key pair. */
  readonly epoch: number;
  /** Public key of the epoch (X-Wing), base64. */
  readonly public_key: string;
  /** Key of the block ids, base64. With it ids can be computed, and nothing can be read. */
  readonly block_id_key: string;
}

export interface ApplicationAccepted {
  /** The application's number. */
  readonly id: string;
  /** State of the application. */
  readonly status: "submitted" | "under_review" | "approved" | "rejected" | "withdrawn" | (string & {});
}

export interface ApplicationApproved {
  readonly application: AdminApplication;
  /** The new account. */
  readonly account_id: string;
  /** Its owner. */
  readonly owner_id: string;
}

export interface AuditChain {
  /** Records of the chain. */
  readonly records: number;
  /** Hash of the last record. */
  readonly hash: string;
  readonly last_checkpoint_at: string | null;
  readonly last_checkpoint_seq: number | null;
  readonly last_checkpoint: string | null;
}

export interface AuditContext {
  /** The request. */
  readonly request_id?: string | undefined;
  /** The operation of the request. */
  readonly operation?: string | undefined;
  /** The session of the request. */
  readonly session_id?: string | undefined;
  /** The member of the session. */
  readonly member_id?: string | undefined;
  /** The OAuth client of the session. */
  readonly client_id?: string | undefined;
  /** The network that the request came from. */
  readonly address?: string | undefined;
}

export interface AuditPage {
  readonly data: readonly AuditRecord[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AuditRecord {
  /** Id of the record. */
  readonly id: string;
  /** The audit chain: the id of an account, or `platform`. */
  readonly chain: string;
  readonly seq: number;
  /** When. */
  readonly occurred_at: string;
  /** What. */
  readonly action: string;
  readonly actor: {
    /** Kind of the actor. `share`: an outside auditor with a share. */
    readonly kind: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | (string & {});
    /** Id of the actor. */
    readonly id?: string | undefined;
  };
  readonly targets: readonly ({
    /** Kind of the object. */
    readonly type: string;
    /** Its id. */
    readonly id: string;
  })[];
  readonly context: AuditContext;
  /** Result of the action. */
  readonly outcome: "success" | "failure" | (string & {});
  /** Data about the action, without personal data. */
  readonly metadata: { readonly [name: string]: unknown };
  /** The hash of the record before it, in hexadecimal digits. */
  readonly prev_hash: string;
  /** The hash of this record. */
  readonly hash: string;
  readonly person: string | null;
}

export interface AuditShare {
  /** Id of the share. Its reads are records whose `actor` has this id. */
  readonly id: string;
  /** For whom and for what. */
  readonly label: string;
  readonly filter: AuditShareFilter;
  /** Names and ids of people, sessions and networks are shown. */
  readonly show_persons: boolean;
  /** Paths and other texts that people wrote are shown, if people are shown too. */
  readonly show_paths: boolean;
  /** Whether it can be read. */
  readonly status: "active" | "expired" | "revoked" | (string & {});
  /** The member who made it. */
  readonly created_by: string;
  /** When it was made. */
  readonly created_at: string;
  /** Until when it can be read. */
  readonly expires_at: string;
  readonly revoked_at: string | null;
}

export interface AuditShareCreated {
  /** The type of the event. */
  readonly event: "audit.share_created";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The share. */
  readonly share_id: string;
  /** Until when it can be read. */
  readonly expires_at: string;
}

export interface AuditShareFilter {
  /** Only records of this time or later. */
  readonly from?: string | undefined;
  /** Only records before this time. */
  readonly to?: string | undefined;
  /** Only this action, or with `.*` at its end all of one kind. */
  readonly action?: string | undefined;
  /** Only what actors of this kind did. */
  readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | (string & {}) | undefined;
  /** Only what was done to objects of this kind. */
  readonly target_type?: string | undefined;
  /** Only with this result. */
  readonly outcome?: "success" | "failure" | (string & {}) | undefined;
  /** Only what this member, client, agent or staff did. */
  readonly actor_id?: string | undefined;
  /** Only what was done to this object. */
  readonly target_id?: string | undefined;
}

export interface AuditSharePage {
  readonly data: readonly AuditShare[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AuditShareRequest {
  /** For whom and for what. */
  readonly label: string;
  readonly filter?: AuditShareRequestFilter | undefined;
  /** For how many days it can be read (30). */
  readonly days?: number | undefined;
  /** Names and ids of people, sessions and networks are shown. */
  readonly show_persons?: boolean | undefined;
  /** Paths and other texts that people wrote are shown, if people are shown too. */
  readonly show_paths?: boolean | undefined;
}

export interface AuditShareRequestFilter {
  /** Only records of this time or later. */
  readonly from?: string | undefined;
  /** Only records before this time. */
  readonly to?: string | undefined;
  /** Only this action, or with `.*` at its end all of one kind. */
  readonly action?: string | undefined;
  /** Only what actors of this kind did. */
  readonly actor_kind?: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | undefined;
  /** Only what was done to objects of this kind. */
  readonly target_type?: string | undefined;
  /** Only with this result. */
  readonly outcome?: "success" | "failure" | undefined;
  /** Only what this member, client, agent or staff did. */
  readonly actor_id?: string | undefined;
  /** Only what was done to this object. */
  readonly target_id?: string | undefined;
}

export interface AuditShareRevoked {
  /** The type of the event. */
  readonly event: "audit.share_revoked";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The share. */
  readonly share_id: string;
  /** Why. */
  readonly reason: string;
}

export interface AuthorizationServerMetadata {
  /** The issuer of every token. */
  readonly issuer: string;
  /** The endpoint for browsers. */
  readonly authorization_endpoint: string;
  /** The token endpoint. */
  readonly token_endpoint: string;
  /** The endpoint that starts the device flow (RFC 8628). */
  readonly device_authorization_endpoint: string;
  /** RFC 7009. */
  readonly revocation_endpoint: string;
  /** RFC 7662. */
  readonly introspection_endpoint: string;
  /** The keys that sign access tokens. */
  readonly jwks_uri: string;
  /** The documentation. */
  readonly service_documentation: string;
  /** Every scope. */
  readonly scopes_supported: readonly string[];
  /** Always `code`. */
  readonly response_types_supported: readonly string[];
  /** Always `query`. */
  readonly response_modes_supported: readonly string[];
  /** See the token operation. */
  readonly grant_types_supported: readonly string[];
  /** Always `S256`. */
  readonly code_challenge_methods_supported: readonly string[];
  /** How clients authenticate. */
  readonly token_endpoint_auth_methods_supported: readonly string[];
  /** For `private_key_jwt`. */
  readonly token_endpoint_auth_signing_alg_values_supported: readonly string[];
  /** As for the token endpoint. */
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  /** As for the token endpoint. */
  readonly revocation_endpoint_auth_signing_alg_values_supported: readonly string[];
  /** As for the token endpoint, but without `none`. */
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
  /** As for the token endpoint. */
  readonly introspection_endpoint_auth_signing_alg_values_supported: readonly string[];
  /** Languages of the pages. */
  readonly ui_locales_supported: readonly string[];
  /** RFC 9207. */
  readonly authorization_response_iss_parameter_supported: boolean;
}

export interface Ban {
  /** Id of the ban. */
  readonly id: string;
  /** What is banned. */
  readonly kind: "client" | "session" | "address" | (string & {});
  /** Id of the client or session, or the address (for IPv6 the /64 network). */
  readonly subject: string;
  readonly account_id: string | null;
  /** Set automatically for a suspicious pattern, or by staff. */
  readonly cause: "pattern" | "staff" | (string & {});
  readonly reason: string | null;
  /** When the ban started. */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly lifted_at: string | null;
  readonly lift_reason: string | null;
}

export interface BatchFieldError {
  /** JSON Pointer into the body. */
  readonly pointer: string;
  /** The kind of error. */
  readonly code: string;
  readonly detail: string;
}

export interface BatchProblem {
  /** As in a call of its own. */
  readonly status: number;
  /** The error code. */
  readonly code: string;
  /** The code in words. */
  readonly title: string;
  /** What to do about it. */
  readonly detail: string;
  readonly errors?: readonly BatchFieldError[] | undefined;
}

export interface BatchResult {
  /** Which item. */
  readonly index: number;
  /** 201, or that of the problem. */
  readonly status: number;
  readonly snapshot?: CreatedSnapshot | undefined;
  readonly problem?: BatchProblem | undefined;
}

export interface BatchResults {
  readonly results: readonly BatchResult[];
}

export interface BillingCharged {
  /** The type of the event. */
  readonly event: "billing.charged";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The invoice. */
  readonly invoice_id: string;
  /** The amount in the smallest unit of the currency. */
  readonly amount_minor: number;
  /** ISO 4217. */
  readonly currency: string;
  /** The month. */
  readonly period: string;
}

export interface ByosTokenExpired {
  /** The type of the event. */
  readonly event: "byos.token_expired";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The connection. */
  readonly connection_id: string;
  /** The provider of the storage. */
  readonly provider: string;
  /** When the token expired, or was found refused. */
  readonly expired_at: string;
}

export interface ClockMove {
  /** Seconds. */
  readonly advance_s: number;
}

export interface ClockTime {
  /** The application's time. */
  readonly now: string;
}

export interface CodeChallenge {
  /** Send it together with the code. */
  readonly challenge_id: string;
  /** Seconds. */
  readonly expires_in: number;
}

export interface CreatedSnapshot {
  /** Id of the snapshot. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault that holds it. */
  readonly vault_id: string;
  readonly source: SnapshotSource;
  readonly label: string | null;
  /** What started the backup. */
  readonly trigger: "manual" | "api" | "schedule" | "e_archive" | (string & {});
  /** How far it is. */
  readonly status: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | (string & {});
  readonly size_bytes: number | null;
  /** What it added to storage. Not shown to clients that only write. */
  readonly stored_bytes?: number | undefined;
  readonly file_count: number | null;
  readonly warning_count: number | null;
  readonly root_hash: string | null;
  readonly parent_id: string | null;
  readonly failure: SnapshotFailure | null;
  readonly verified_at: string | null;
  readonly verification?: SnapshotVerification | null | undefined;
  readonly retention: SnapshotRetention;
  /** Facts of your own: at most 50 keys with texts of at most 500 characters. */
  readonly metadata: { readonly [name: string]: string };
  readonly external_reference: string | null;
  readonly created_by: SnapshotCreator;
  /** When it was created. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** Counts its changes. */
  readonly version: number;
  /** Whether the name made a new source. */
  readonly source_created: boolean;
}

export interface DeletionCanceled {
  /** The type of the event. */
  readonly event: "deletion.canceled";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The act; `pending_acts.cancel` cancels it while it waits. */
  readonly act_id: string;
  /** What is deleted, or that the account is closed. */
  readonly kind: "source_deletion" | "taxpayer_deletion" | "vault_deletion" | "account_closing" | (string & {});
  /** The vault; where the account is closed, its default vault. */
  readonly vault_id: string;
  readonly source_id: string | null;
  readonly taxpayer_id: string | null;
  /** The end of the 72 hours. */
  readonly due_at: string;
}

export interface DeletionCompleted {
  /** The type of the event. */
  readonly event: "deletion.completed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The act; `pending_acts.cancel` cancels it while it waits. */
  readonly act_id: string;
  /** What is deleted, or that the account is closed. */
  readonly kind: "source_deletion" | "taxpayer_deletion" | "vault_deletion" | "account_closing" | (string & {});
  /** The vault; where the account is closed, its default vault. */
  readonly vault_id: string;
  readonly source_id: string | null;
  readonly taxpayer_id: string | null;
  /** The end of the 72 hours. */
  readonly due_at: string;
}

export interface DeletionScheduled {
  /** The type of the event. */
  readonly event: "deletion.scheduled";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The act; `pending_acts.cancel` cancels it while it waits. */
  readonly act_id: string;
  /** What is deleted, or that the account is closed. */
  readonly kind: "source_deletion" | "taxpayer_deletion" | "vault_deletion" | "account_closing" | (string & {});
  /** The vault; where the account is closed, its default vault. */
  readonly vault_id: string;
  readonly source_id: string | null;
  readonly taxpayer_id: string | null;
  /** The end of the 72 hours. */
  readonly due_at: string;
}

export interface DeviceAnswer {
  /** The device sends it to the token endpoint. */
  readonly device_code: string;
  /** The person types it. */
  readonly user_code: string;
  /** The page on which the person types the user code. */
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  /** Seconds. */
  readonly expires_in: number;
  /** Seconds between two polls. */
  readonly interval: number;
}

export interface DeviceRequest {
  /** Scopes, separated by spaces. Default: all scopes of the client. */
  readonly scope?: string | undefined;
  /** The client; not needed with HTTP Basic. */
  readonly client_id?: string | undefined;
  /** `client_secret_post`: its secret. */
  readonly client_secret?: string | undefined;
  /** `private_key_jwt` (RFC 7523). */
  readonly client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" | undefined;
  /** `private_key_jwt`: a JWT signed by the client. It can be used once. */
  readonly client_assertion?: string | undefined;
}

export interface DownloadLink {
  /** Where the download is. */
  readonly url: string;
  /** Until when it can be used. */
  readonly expires_at: string;
}

export interface Enrolment {
  /** A new person, or a new authenticator. */
  readonly purpose: "enrolment" | "second_factor_reset" | (string & {});
  /** The e-mail address for the sign-in. */
  readonly email: string;
  readonly phone: string | null;
  /** Whether a phone must be verified. */
  readonly phone_required: boolean;
  readonly totp: TotpSetup;
}

export interface EnrolmentCodeRequest {
  /** The part after `#` in the link of the mail. */
  readonly token: string;
  /** Turkish mobile. */
  readonly phone?: string | undefined;
}

export interface EnrolmentCompletion {
  /** The part after `#` in the link of the mail. */
  readonly token: string;
  /** Password. */
  readonly password: string;
  /** Six digits. */
  readonly totp_code: string;
  /** The `challenge_id` of the SMS code. */
  readonly phone_challenge_id?: string | undefined;
  /** Six digits. */
  readonly phone_code?: string | undefined;
}

export interface EnrolmentRequest {
  /** The part after `#` in the link of the mail. */
  readonly token: string;
}

export interface Erasure {
  /** Id of the erasure. */
  readonly id: string;
  /** The vault. */
  readonly vault_id: string;
  /** What decided it. */
  readonly cause: "vault_deletion" | "taxpayer_deletion" | "account_closing" | (string & {});
  /** The act that decided it. */
  readonly act_id: string;
  /** The member who started the act. */
  readonly ordered_by: string;
  /** `erased`: nothing of the vault is left, and the proof is there. */
  readonly state: "erasing" | "erased" | (string & {});
  /** Objects of the vault in the object store when the erasure began. */
  readonly objects: number;
  /** Their bytes. */
  readonly bytes: number;
  /** When it began. From then on nobody reads the vault. */
  readonly created_at: string;
  readonly keys_destroyed_at: string | null;
  readonly erased_at: string | null;
  readonly proof: string | null;
}

export interface Erasures {
  readonly data: readonly Erasure[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A payload as webhooks get it, with the fields of its type. */
export interface Event {
  /** The type of the event. */
  readonly event: string;
  /** The event; the same as `webhook-id` of its deliveries. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
}

export interface EventType {
  /** The type, as payloads have it. */
  readonly name: string;
  /** What happened. */
  readonly summary: string;
  /** When it is sent. */
  readonly description: string;
  /** It happens in a vault: clients of that vault see it too. */
  readonly of_vault: boolean;
}

export interface EventTypes {
  readonly data: readonly EventType[];
}

export interface Events {
  readonly data: readonly Event[];
  /** The `after` of the next request. */
  readonly last_sequence: number;
}

export interface FieldError {
  /** JSON Pointer into the body; `/query/…` and `/path/…` for parameters. */
  readonly pointer: string;
  /** The kind of error. */
  readonly code: string;
  readonly detail: string;
}

export interface FileVersion {
  /** What it is. */
  readonly type: "file" | "directory" | "link" | (string & {});
  readonly size_bytes: number | null;
  /** When it was changed last. */
  readonly mtime: string;
  /** Permissions, octal. */
  readonly mode: string;
  readonly hash: string | null;
  /** The first snapshot that has it. */
  readonly first_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** When it was created. */
    readonly created_at: string;
  };
  /** The last snapshot that has it. */
  readonly last_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** When it was created. */
    readonly created_at: string;
  };
  /** The newest snapshot of the source has it. */
  readonly is_current: boolean;
}

export interface FileVersionPage {
  readonly data: readonly FileVersion[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly projection: Projection;
}

export interface FoundFile {
  /** The vault it is in. */
  readonly vault_id: string;
  readonly source: {
    /** Id of the source. */
    readonly id: string;
    readonly name: string;
  };
  /** Last part of the path. */
  readonly name: string;
  /** The bytes of `name`, only where they are not UTF-8. */
  readonly name_base64?: string | undefined;
  /** Path in the snapshot. */
  readonly path: string;
  /** The bytes of `path`, only where they are not UTF-8. */
  readonly path_base64?: string | undefined;
  /** What it is. */
  readonly type: "file" | "directory" | "link" | (string & {});
  readonly size_bytes: number | null;
  /** When it was changed last. */
  readonly mtime: string;
  /** Permissions, octal. */
  readonly mode: string;
  readonly hash: string | null;
  /** The first snapshot that has it. */
  readonly first_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** When it was created. */
    readonly created_at: string;
  };
  /** The last snapshot that has it. */
  readonly last_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** When it was created. */
    readonly created_at: string;
  };
  /** The newest snapshot of the source has it. */
  readonly is_current: boolean;
}

export interface FoundFilePage {
  readonly data: readonly FoundFile[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly projection: Projection;
}

export interface Health {
  /** Always `ok`; otherwise the answer is a problem. */
  readonly status: "ok";
}

export interface Hold {
  /** Why it is held. */
  readonly reason: string;
  readonly review_at: string | null;
  /** The owner who holds it. */
  readonly held_by: string;
  /** Since when. */
  readonly held_at: string;
}

export interface Introspection {
  /** Whether the token is valid now. The other fields are present only if it is. */
  readonly active: boolean;
  /** Scopes of the token. */
  readonly scope?: string | undefined;
  /** The client of the token. */
  readonly client_id?: string | undefined;
  readonly token_type?: "Bearer" | undefined;
  /** Expiry, Unix seconds. */
  readonly exp?: number | undefined;
  /** Issue, Unix seconds. */
  readonly iat?: number | undefined;
  /** The member, or the client itself. */
  readonly sub?: string | undefined;
  readonly aud?: string | undefined;
  readonly iss?: string | undefined;
  readonly jti?: string | undefined;
  /** The session of the token. */
  readonly sid?: string | undefined;
  /** The account. */
  readonly acct?: string | undefined;
}

export interface Invitation {
  /** E-mail address. */
  readonly email: string;
  /** Name. */
  readonly full_name: string;
  /** The role of the member; see the table of roles. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor";
}

export interface LoginRequest {
  /** E-mail address. */
  readonly email: string;
  /** Password. */
  readonly password: string;
  /** Six digits of the authenticator or of an SMS, or a recovery code (`xxxxx-xxxxx`). */
  readonly totp_code: string;
  /** For an SMS code: its `challenge_id`. */
  readonly otp_challenge_id?: string | undefined;
  /** The kind of session (default `api`). */
  readonly client?: "api" | "dashboard" | undefined;
}

export interface Me {
  /** Your id. */
  readonly id: string;
  readonly account_id: string | null;
  /** Your role. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | "staff" | (string & {});
  /** E-mail address. */
  readonly email: string;
  /** Your name. */
  readonly full_name: string;
  /** Language of mails and messages. */
  readonly language: "tr" | "en" | (string & {});
  readonly phone: string | null;
  /** Whether codes can be sent by SMS. */
  readonly phone_verified: boolean;
  readonly recovery_codes_left: number;
  readonly version: number;
}

export interface MeChange {
  /** Your name. */
  readonly full_name?: string | undefined;
  /** Language of mails and messages. */
  readonly language?: "tr" | "en" | undefined;
}

export interface Member {
  /** Id of the member. */
  readonly id: string;
  /** E-mail address. */
  readonly email: string;
  /** Name. */
  readonly full_name: string;
  /** The role of the member; see the table of roles. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | (string & {});
  /** `invited` until the person has used the enrolment link. */
  readonly state: "invited" | "active" | "removed" | (string & {});
  /** Whether codes can be sent by SMS. */
  readonly phone_verified: boolean;
  /** When they were invited. */
  readonly created_at: string;
  readonly version: number;
}

export interface MemberChange {
  /** The role of the member; see the table of roles. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor";
}

export interface MemberPage {
  readonly data: readonly Member[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface MukellefTransferred {
  /** The type of the event. */
  readonly event: "mukellef.transferred";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The taxpayer. */
  readonly taxpayer_id: string;
  /** The account that had it. */
  readonly from_account_id: string;
  /** The account that has it now. */
  readonly to_account_id: string;
}

export interface NewAgent {
  /** Name of the agent. */
  readonly name: string;
  readonly host?: string | null | undefined;
  readonly os?: string | null | undefined;
  readonly version?: string | null | undefined;
  /** Whether the machine permits restores that overwrite files. */
  readonly allow_overwrite?: boolean | undefined;
  /** The folders under which the machine permits restores. */
  readonly roots?: readonly string[] | undefined;
  /** The vaults that it may write to. */
  readonly vaults?: readonly string[] | undefined;
  /** For people: the OAuth client that uploads with this key. */
  readonly client_id?: string | undefined;
  /** The agent's Ed25519 public key, base64. */
  readonly public_key: string;
  /** Made with the private key; see the description. Base64. */
  readonly signature: string;
}

export interface NewApplication {
  /** The kind of applicant. */
  readonly kind: "accounting_office" | "company";
  /** Name of the person who applies. */
  readonly full_name: string;
  /** The e-mail address for the answer. */
  readonly email: string;
  /** Turkish mobile: `05…`, `5…`, `90…` or `+90…`. */
  readonly phone: string;
  /** Name of the office or company. */
  readonly company_name: string;
  /** VKN (10 digits) or TCKN (11 digits), with valid check digits. */
  readonly tax_id: string;
  /** The requested package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate";
  /** A note to us. */
  readonly note?: string | undefined;
  readonly consents: {
    /** The terms of service are accepted; must be true. */
    readonly terms: boolean;
    /** The privacy notice (KVKK) was read; must be true. */
    readonly privacy: boolean;
    /** We may send news by e-mail. */
    readonly marketing?: boolean | undefined;
  };
}

export interface NewAuditShare {
  /** Id of the share. Its reads are records whose `actor` has this id. */
  readonly id: string;
  /** For whom and for what. */
  readonly label: string;
  readonly filter: AuditShareFilter;
  /** Names and ids of people, sessions and networks are shown. */
  readonly show_persons: boolean;
  /** Paths and other texts that people wrote are shown, if people are shown too. */
  readonly show_paths: boolean;
  /** Whether it can be read. */
  readonly status: "active" | "expired" | "revoked" | (string & {});
  /** The member who made it. */
  readonly created_by: string;
  /** When it was made. */
  readonly created_at: string;
  /** Until when it can be read. */
  readonly expires_at: string;
  readonly revoked_at: string | null;
  /** The secret, shown only here. */
  readonly token: string;
}

export interface NewBan {
  /** What to ban. */
  readonly kind: "client" | "session" | "address";
  /** Id of the client or session, or the address. */
  readonly subject: string;
  readonly hours: number | null;
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
}

export interface NewDownloadLink {
  /** Only this file or directory. */
  readonly path?: string | {
    /** The bytes of the path, for one that is not UTF-8. */
    readonly base64: string;
  } | undefined;
  /** An archive of this kind. */
  readonly format?: "tar" | "zip" | undefined;
}

export interface NewHold {
  /** Why it is held. */
  readonly reason: string;
  readonly review_at?: string | null | undefined;
}

export interface NewLock {
  /** When the lock ends. */
  readonly locked_until: string;
}

export interface NewOauthClient {
  /** Name of the client. */
  readonly name: string;
  /** Scopes. */
  readonly scopes: readonly ("snapshots:read" | "snapshots:write" | "restores:read" | "restores:write" | "restores:agent" | "audit:read" | "webhooks:read" | "webhooks:write" | "account:read" | "account:write" | "taxpayers:read" | "taxpayers:write")[];
  /** The role limits what the client may do, in addition to its scopes. */
  readonly role?: "owner" | "manager" | "operator" | "viewer" | "auditor" | undefined;
  readonly vault_ids?: readonly string[] | null | undefined;
  /** For `authorization_code`. */
  readonly redirect_uris?: readonly string[] | undefined;
  readonly grant_types?: readonly ("client_credentials" | "authorization_code")[] | undefined;
  /** How the client authenticates. */
  readonly auth_method?: "client_secret" | "private_key_jwt" | "none" | undefined;
  /** Public keys of `private_key_jwt` (RFC 7517). */
  readonly jwks?: {
    readonly keys: readonly ({
      /** Elliptic curve. */
      readonly kty: "EC";
      /** For ES256. */
      readonly crv: "P-256";
      /** Coordinate. */
      readonly x: string;
      /** Coordinate. */
      readonly y: string;
      /** Name of the key. */
      readonly kid?: string | undefined;
      /** Algorithm. */
      readonly alg?: "ES256" | undefined;
      /** Use. */
      readonly use?: "sig" | undefined;
    })[];
  } | undefined;
}

export interface NewRateLimitRequest {
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package";
  /** Requests in the window. */
  readonly limit: number;
  /** Length of the window, in seconds. */
  readonly window_s: number;
  /** Size of the bucket (only for policy `package`); default: twice the limit. */
  readonly burst?: number | undefined;
  /** Why you need it. */
  readonly reason: string;
}

export interface NewRestore {
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Only these files and directories; everything if absent. */
  readonly paths?: readonly (string | {
    /** The bytes of the path, for one that is not UTF-8. */
    readonly base64: string;
  })[] | undefined;
  /** What happens when files cannot be read: the restore fails and names them (`fail`), or it has the others (`skip`). */
  readonly on_damage?: "fail" | "skip" | undefined;
  readonly target: NewRestoreTarget;
}

/** `download` needs `format`. `agent` needs `agent_id`. */
export interface NewRestoreTarget {
  /** Where the files go: an archive to download, or a machine that runs the agent. */
  readonly kind: "download" | "agent";
  /** With `download`: the kind of archive. */
  readonly format?: "tar" | "zip" | undefined;
  /** With `agent`: the agent. */
  readonly agent_id?: string | undefined;
  /** With `agent`: the folder on the machine. Absent: a new folder below the machine's own root for restores. */
  readonly path?: string | undefined;
  /** What the agent does where a file is there already: it writes under another name (`rename`), leaves the file (`skip`), or replaces it (`overwrite`, where the machine permits it). */
  readonly on_conflict?: "rename" | "skip" | "overwrite" | undefined;
}

export interface NewSnapshot {
  /** What is backed up: a name in the vault, which is made if it is new, or the id of a source. */
  readonly source: string;
  /** A name for people. */
  readonly label?: string | undefined;
  /** The vault. If absent, the account's default vault. A client that is held to other vaults: if absent, its only one; required if it has several. */
  readonly vault_id?: string | undefined;
  /** The taxpayer whose vault is meant. */
  readonly taxpayer_id?: string | undefined;
  /** What started the backup. */
  readonly trigger?: "manual" | "api" | "schedule" | "e_archive" | undefined;
  /** Your own id of this backup. */
  readonly external_reference?: string | undefined;
  /** The taxpayer whose vault is meant, by VKN or TCKN. */
  readonly tax_id?: string | undefined;
  /** Facts of your own: at most 50 keys with texts of at most 500 characters. */
  readonly metadata?: { readonly [name: string]: string } | undefined;
}

export interface NewSnapshots {
  readonly items: readonly NewSnapshot[];
}

export interface NewSource {
  /** Name, unique in its vault. It must not have the form of a UUID. */
  readonly name: string;
  /** What is backed up. */
  readonly kind?: "files" | "database" | "e_archive" | "other" | undefined;
  readonly expected_every?: number | null | undefined;
  /** The vault. If absent, the account's default vault. A client that is held to other vaults: if absent, its only one; required if it has several. */
  readonly vault_id?: string | undefined;
  /** The taxpayer whose vault it is. */
  readonly taxpayer_id?: string | undefined;
}

export interface NewTaxpayer {
  /** Name of the taxpayer. */
  readonly name: string;
  /** VKN (10 digits) or TCKN (11 digits). The check digits must be right. */
  readonly tax_id: string;
}

export interface NewVault {
  /** Name of the vault. */
  readonly name: string;
  readonly quota_bytes?: number | null | undefined;
  readonly quota_warning_bytes?: number | null | undefined;
}

export interface NewWebhook {
  /** Where events are sent: https, a public host, no user name or password in it. */
  readonly url: string;
  /** What is sent. */
  readonly events: readonly ("*" | "account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test")[];
  readonly description?: string | null | undefined;
}

/** Nights by state. */
export interface NightCounts {
  readonly ok: number;
  readonly unchanged: number;
  readonly late: number;
  readonly failed: number;
  readonly running: number;
  readonly none: number;
}

export interface Nights {
  readonly taxpayer_id: string | null;
  readonly source_id: string | null;
  /** Its vault. */
  readonly vault_id: string;
  /** Its name. */
  readonly name: string;
  /** One per day, from `from` to `to`. Of a taxpayer, the worst of its sources. */
  readonly states: readonly ("ok" | "unchanged" | "late" | "failed" | "running" | "none" | (string & {}))[];
  readonly counts: NightCounts;
  readonly last_good_at: string | null;
}

export interface NightsPage {
  /** The first day. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  readonly counts: NightCounts;
  readonly data: readonly Nights[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface OauthClient {
  /** The `client_id`. */
  readonly id: string;
  /** Name of the client. */
  readonly name: string;
  /** Scopes. */
  readonly scopes: readonly ("snapshots:read" | "snapshots:write" | "restores:read" | "restores:write" | "restores:agent" | "audit:read" | "webhooks:read" | "webhooks:write" | "account:read" | "account:write" | "taxpayers:read" | "taxpayers:write" | (string & {}))[];
  /** The role limits what the client may do, in addition to its scopes. */
  readonly role: "owner" | "manager" | "operator" | "viewer" | "auditor" | (string & {});
  readonly vault_ids: readonly string[] | null;
  /** For `authorization_code`. */
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly ("client_credentials" | "authorization_code" | (string & {}))[];
  /** How the client authenticates. */
  readonly auth_method: "client_secret" | "private_key_jwt" | "none" | (string & {});
  readonly jwks: {
    readonly keys: readonly ({
      /** Elliptic curve. */
      readonly kty: "EC";
      /** For ES256. */
      readonly crv: "P-256";
      /** Coordinate. */
      readonly x: string;
      /** Coordinate. */
      readonly y: string;
      /** Name of the key. */
      readonly kid?: string | undefined;
      /** Algorithm. */
      readonly alg?: "ES256" | undefined;
      /** Use. */
      readonly use?: "sig" | undefined;
    })[];
  } | null;
  /** When it was made. */
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly responsible_id: string | null;
  readonly review_since: string | null;
  readonly version: number;
}

export interface OauthClientChange {
  /** Name of the client. */
  readonly name?: string | undefined;
  /** Scopes. */
  readonly scopes?: readonly ("snapshots:read" | "snapshots:write" | "restores:read" | "restores:write" | "restores:agent" | "audit:read" | "webhooks:read" | "webhooks:write" | "account:read" | "account:write" | "taxpayers:read" | "taxpayers:write")[] | undefined;
  /** The role limits what the client may do, in addition to its scopes. */
  readonly role?: "owner" | "manager" | "operator" | "viewer" | "auditor" | undefined;
  readonly vault_ids?: readonly string[] | null | undefined;
}

export interface OauthClientCreated {
  readonly client: OauthClient;
  /** Shown only in this answer. Keep it where only the client can read it. */
  readonly secret?: string | undefined;
}

export interface OauthClientPage {
  readonly data: readonly OauthClient[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface OauthError {
  /** The error code of RFC 6749 and its extensions. */
  readonly error: "access_denied" | "authorization_pending" | "consent_required" | "expired_token" | "interaction_required" | "invalid_client" | "invalid_client_metadata" | "invalid_grant" | "invalid_redirect_uri" | "invalid_request" | "invalid_scope" | "login_required" | "request_not_supported" | "request_uri_not_supported" | "registration_not_supported" | "server_error" | "slow_down" | "temporarily_unavailable" | "unauthorized_client" | "unsupported_grant_type" | "unsupported_response_mode" | "unsupported_response_type" | "unsupported_token_type" | (string & {});
  /** For developers, in English. */
  readonly error_description?: string | undefined;
  /** `invalid_scope`: the scope that is not allowed. */
  readonly scope?: string | undefined;
  /** The `state` of the request. */
  readonly state?: string | undefined;
  /** The issuer of the answer (RFC 9207). */
  readonly iss?: string | undefined;
}

export interface OauthGrant {
  /** Id of the grant. If the program is an agent, also the id of the agent. */
  readonly id: string;
  /** The program's `client_id`; all agents share one. */
  readonly client_id: string;
  /** Name of the program. */
  readonly client_name: string;
  /** The kind of its tokens. */
  readonly kind: "api" | "agent" | (string & {});
  readonly scopes: readonly ("snapshots:read" | "snapshots:write" | "restores:read" | "restores:write" | "restores:agent" | "audit:read" | "webhooks:read" | "webhooks:write" | "account:read" | "account:write" | "taxpayers:read" | "taxpayers:write" | (string & {}))[];
  /** The member responsible for it: the member who granted it, or the owner who last reviewed it. */
  readonly member_id: string;
  /** When it was granted. */
  readonly created_at: string;
  /** When the program last got a token. */
  readonly last_used_at: string;
  readonly review_since: string | null;
}

export interface OauthGrantPage {
  readonly data: readonly OauthGrant[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Order {
  /** Id of the order, and of the restore. */
  readonly id: string;
  /** The vault. */
  readonly vault_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  readonly paths: readonly (string | {
    /** The bytes of the path, for one that is not UTF-8. */
    readonly base64: string;
  })[] | null;
  readonly path: string | null;
  /** What the agent does where a file is there already: it writes under another name (`rename`), leaves the file (`skip`), or replaces it (`overwrite`, where the machine permits it). */
  readonly on_conflict: "rename" | "skip" | "overwrite" | (string & {});
  /** What happens when files cannot be read: the restore fails and names them (`fail`), or it has the others (`skip`). */
  readonly on_damage: "fail" | "skip" | (string & {});
  /** How far it is. */
  readonly status: "pending" | "running" | "completed" | "failed" | "canceled" | (string & {});
  readonly run_id: string | null;
  /** Bytes of the files that were asked for. */
  readonly bytes_total: number;
  /** Files that were asked for. */
  readonly files_total: number;
  /** Bytes that were written, as reported. */
  readonly bytes_restored: number;
  /** Files that were written, as reported. */
  readonly files_restored: number;
  /** Warnings that were reported. */
  readonly warning_count: number;
  /** When it was given. */
  readonly created_at: string;
  /** When it fails unless the agent reports before. */
  readonly expires_at: string;
}

export interface OrderEnd {
  /** The run: chosen at random by each process of the agent when it starts. */
  readonly run_id: string;
  /** Bytes of the files that were written so far. */
  readonly bytes_restored: number;
  /** Files that were written so far. */
  readonly files_restored: number;
  readonly warnings?: OrderWarnings | undefined;
  /** How it ended. */
  readonly result: "completed" | "failed";
  /** With `failed`: why. `target_refused`: the machine does not permit this place or overwriting. `target_full`: no space is left. `write_failed`: files could not be written. */
  readonly failure?: "content_damaged" | "target_refused" | "target_full" | "write_failed" | "internal" | undefined;
}

export interface OrderReport {
  /** The run: chosen at random by each process of the agent when it starts. */
  readonly run_id: string;
  /** Bytes of the files that were written so far. */
  readonly bytes_restored: number;
  /** Files that were written so far. */
  readonly files_restored: number;
  readonly warnings?: OrderWarnings | undefined;
}

export interface OrderStart {
  /** The run: chosen at random by each process of the agent when it starts. */
  readonly run_id: string;
}

export interface OrderWarning {
  /** Its path in the snapshot. */
  readonly path: string | {
    /** The bytes of the path, for one that is not UTF-8. */
    readonly base64: string;
  };
  /** `content_damaged`: a file that cannot be read. `entries_unreadable`: a directory some of whose entries cannot be. `skipped`: the file was there and stays. `renamed`: written under another name. `not_written`: it could not be written. */
  readonly code: "content_damaged" | "entries_unreadable" | "skipped" | "renamed" | "not_written";
}

export interface OrderWarnings {
  /** How many warnings were sent before these; so a repeated call adds none twice. */
  readonly first: number;
  readonly data: readonly OrderWarning[];
}

export interface Orders {
  readonly data: readonly Order[];
}

export interface PasswordChange {
  /** Password. */
  readonly current_password: string;
  /** Password. */
  readonly new_password: string;
}

export interface PasswordReset {
  /** The part after `#` in the link of the mail. */
  readonly token: string;
  /** Password. */
  readonly new_password: string;
}

export interface PasswordResetRequest {
  /** E-mail address. */
  readonly email: string;
}

export interface PathChange {
  /** What happened to the path. */
  readonly change: "added" | "removed" | "changed" | (string & {});
  /** Last part of the path. */
  readonly name: string;
  /** The bytes of `name`, only where they are not UTF-8. */
  readonly name_base64?: string | undefined;
  /** Path in the snapshot. */
  readonly path: string;
  /** The bytes of `path`, only where they are not UTF-8. */
  readonly path_base64?: string | undefined;
  readonly before: {
    /** What it is. */
    readonly type: "file" | "directory" | "link" | (string & {});
    readonly size_bytes: number | null;
    /** When it was changed last. */
    readonly mtime: string;
    /** Permissions, octal. */
    readonly mode: string;
    readonly hash: string | null;
  } | null;
  readonly after: {
    /** What it is. */
    readonly type: "file" | "directory" | "link" | (string & {});
    readonly size_bytes: number | null;
    /** When it was changed last. */
    readonly mtime: string;
    /** Permissions, octal. */
    readonly mode: string;
    readonly hash: string | null;
  } | null;
}

export interface PendingAct {
  /** Id of the act. */
  readonly id: string;
  /** What happens when its time has come. */
  readonly kind: "policy_change" | "hold_release" | "acceptance" | "source_deletion" | "taxpayer_deletion" | "vault_deletion" | "account_closing" | (string & {});
  /** `waiting` until `due_at`; `refused`: something was held or locked, or the vault's signed chain does not have it. */
  readonly state: "waiting" | "done" | "canceled" | "refused" | (string & {});
  /** The vault. */
  readonly vault_id: string;
  readonly source_id: string | null;
  readonly snapshot_id: string | null;
  readonly taxpayer_id: string | null;
  /** The member who started it. */
  readonly created_by: string;
  readonly canceled_by: string | null;
  /** When it was started. */
  readonly created_at: string;
  /** When it takes effect: 72 hours later. */
  readonly due_at: string;
  readonly ended_at: string | null;
}

export interface PendingActs {
  readonly data: readonly PendingAct[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A change that waits; null: none does. */
export interface PendingRetention {
  /** The act; any owner can cancel it. */
  readonly act_id: string;
  /** When it takes effect. */
  readonly due_at: string;
  readonly policy: PendingRetentionPolicy;
}

export interface PendingRetentionPolicy {
  readonly keep_last: number | null;
  readonly keep_hourly: number | null;
  readonly keep_daily: number | null;
  readonly keep_weekly: number | null;
  readonly keep_monthly: number | null;
  readonly keep_yearly: number | null;
  readonly keep_within_days: number | null;
  readonly floor_days: number | null;
  readonly ceiling_days: number | null;
}

export interface PhoneChange {
  /** Turkish mobile. */
  readonly phone: string;
}

export interface PhoneConfirmation {
  /** The `challenge_id` of the request. */
  readonly challenge_id: string;
  /** Six digits. */
  readonly code: string;
}

export interface Problem {
  /** Page that explains the code. */
  readonly type: string;
  /** The code in words, in the language of `Accept-Language` (tr, en). */
  readonly title: string;
  readonly status: number;
  /** The error code. A code never changes its meaning. */
  readonly code: "malformed_json" | "unknown_parameter" | "duplicate_parameter" | "invalid_cursor" | "invalid_header" | "malformed_request" | "missing_token" | "invalid_token" | "token_expired" | "invalid_credentials" | "refresh_token_missing" | "refresh_token_invalid" | "refresh_token_reused" | "insufficient_scope" | "insufficient_role" | "admin_required" | "member_required" | "package_required" | "feature_not_enabled" | "account_suspended" | "banned" | "step_up_required" | "origin_not_allowed" | "agent_required" | "writer_not_bound" | "not_found" | "unknown_version" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "payload_too_large" | "uri_too_long" | "unsupported_media_type" | "range_not_satisfiable" | "headers_too_large" | "state_conflict" | "idempotency_in_progress" | "quota_exceeded" | "retention_locked" | "legal_hold" | "endpoint_sunset" | "snapshot_expired" | "events_expired" | "download_expired" | "share_revoked" | "precondition_failed" | "precondition_required" | "validation_failed" | "idempotency_key_reused" | "content_mismatch" | "invalid_archive" | "webhook_url_blocked" | "rate_limited" | "too_many_attempts" | "internal_error" | "unavailable" | "storage_full" | (string & {});
  /** What to do about it. It never contains data of the request. */
  readonly detail: string;
  /** The server's own id of the request, also when you sent a request id. */
  readonly instance: string;
  /** Give this id to support. */
  readonly request_id: string;
  readonly errors?: readonly FieldError[] | undefined;
  /** Of an upload: why the call was refused, for programs. */
  readonly reason?: string | undefined;
  /** `rate_limited`: the limit that was exceeded. */
  readonly policy?: string | undefined;
  readonly limit?: number | undefined;
  /** Seconds. */
  readonly window?: number | undefined;
  readonly retry_after?: number | undefined;
  /** `package_required`: the smallest package that includes this. */
  readonly required?: string | undefined;
  /** The failed snapshot that an upload left behind, where it failed after its first byte. */
  readonly snapshot_id?: string | undefined;
  /** `package_required`: the account's package. */
  readonly current?: string | undefined;
}

/** How far search and history are. A job adds a snapshot within seconds of its completion. */
export interface Projection {
  readonly snapshot_id: string | null;
  readonly created_at: string | null;
  /** Completed snapshots that the answer does not have yet. */
  readonly waiting: number;
}

export interface PublicKey {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: "ES256";
  readonly use: "sig";
}

export interface PublicKeys {
  readonly keys: readonly PublicKey[];
}

export interface RateLimit {
  /** Name of the limit. */
  readonly policy: "login" | "login_ip" | "sms_minute" | "sms_hour" | "applications" | "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "audit_shared_export" | "audit_shared_events" | "admin" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package" | "anonymous" | (string & {});
  /** An exact window, or a bucket that refills. */
  readonly kind: "window" | "bucket" | (string & {});
  /** Whether the limit refuses, only counts, or is off. */
  readonly mode: "enforce" | "shadow" | "off" | (string & {});
  /** Requests in the window, or the size of the bucket. */
  readonly limit: number;
  /** Length of the window, or the time until an empty bucket is full again, in seconds. */
  readonly window_s: number;
  /** Number of requests left. */
  readonly remaining: number;
  /** When the whole limit is available again. */
  readonly reset_at: string;
  /** Whether staff set it for this account. */
  readonly custom: boolean;
}

export interface RateLimitRequest {
  /** Id of the request. */
  readonly id: string;
  /** Name of the limit. */
  readonly policy: "snapshots_list" | "snapshots_create" | "webhook_sends" | "webhook_verify_debug" | "snapshots_create_hour" | "snapshots_verify" | "restore_create" | "audit_export" | "token" | "package" | (string & {});
  /** Requests in the window. */
  readonly limit: number;
  /** Length of the window, in seconds. */
  readonly window_s: number;
  /** Size of the bucket. */
  readonly burst: number;
  /** Why it is needed. */
  readonly reason: string;
  /** State of the application. */
  readonly state: "pending" | "approved" | "rejected" | (string & {});
  readonly decided_at: string | null;
  /** When it was made. */
  readonly created_at: string;
}

export interface RateLimitRequestPage {
  readonly data: readonly RateLimitRequest[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RateLimits {
  readonly data: readonly RateLimit[];
}

export interface ReceiptKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  /** The public key. */
  readonly x: string;
  /** Its name; receipts have it in their header. */
  readonly kid: string;
  readonly alg: "EdDSA";
  readonly use: "sig";
  /** When it was made. It signs until the next one is made. */
  readonly created_at: string;
  readonly introduction: string | null;
}

export interface ReceiptKeys {
  readonly keys: readonly ReceiptKey[];
}

export interface RecoveryCodes {
  /** Shown only in this answer. Print the codes and do not keep them with the phone. */
  readonly recovery_codes: readonly string[];
}

export interface RecoveryKit {
  /** Id of the order. */
  readonly id: string;
  /** The vault. */
  readonly vault_id: string;
  /** `waiting` for 24 hours, then `ready` for seven days. `delivered`: an owner has fetched it. `expired`: nobody has. */
  readonly state: "waiting" | "ready" | "delivered" | "canceled" | "expired" | (string & {});
  /** The owner who ordered it. */
  readonly created_by: string;
  /** When it was ordered. */
  readonly created_at: string;
  /** From when on it can be fetched. */
  readonly ready_at: string;
  readonly ended_by: string | null;
  readonly ended_at: string | null;
}

export interface RecoveryKitFile {
  /** The vault. */
  readonly vault_id: string;
  /** The kit. */
  readonly kit: string;
  /** The key that opens it. */
  readonly key: string;
}

export interface RecoveryKits {
  readonly data: readonly RecoveryKit[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ResetDecision {
  /** What to do. */
  readonly decision: "confirm" | "cancel";
}

export interface Restore {
  /** Id of the restore. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault. */
  readonly vault_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  readonly target: RestoreTarget;
  /** What happens when files cannot be read: the restore fails and names them (`fail`), or it has the others (`skip`). */
  readonly on_damage: "fail" | "skip" | (string & {});
  readonly path_count: number | null;
  /** How far it is. */
  readonly status: "pending" | "running" | "completed" | "failed" | "canceled" | (string & {});
  /** Bytes of the files that were asked for. */
  readonly bytes_total: number;
  /** Bytes of the files that were read so far, or written by the agent. */
  readonly bytes_restored: number;
  /** Files that were asked for. */
  readonly files_total: number;
  /** Files that were read so far, or written by the agent. */
  readonly files_restored: number;
  readonly verification: RestoreVerification | null;
  /** What `GET …/warnings` lists: what could not be read, and what the agent did otherwise. */
  readonly warning_count: number;
  readonly failure: RestoreFailure | null;
  readonly download: RestoreDownload | null;
  readonly created_by: RestoreCreator;
  /** When it was accepted. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** Counts its changes of state. */
  readonly version: number;
}

export interface RestoreCompleted {
  /** The type of the event. */
  readonly event: "restore.completed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The restore. */
  readonly restore_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Restored files. */
  readonly files_restored: number;
  /** Bytes of these files. */
  readonly bytes_restored: number;
  /** What could not be read and is left out. */
  readonly warning_count: number;
}

export interface RestoreCreator {
  /** What started it. */
  readonly kind: "client" | "agent" | "member" | (string & {});
  /** Which one. */
  readonly id: string;
}

export interface RestoreDownload {
  /** Bytes of the archive. */
  readonly size_bytes: number;
  /** Until when it can be downloaded. */
  readonly expires_at: string;
  /** Whether that time has passed, or the snapshot was deleted. */
  readonly expired: boolean;
}

export interface RestoreFailed {
  /** The type of the event. */
  readonly event: "restore.failed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The restore. */
  readonly restore_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Why. */
  readonly failure: "content_damaged" | "snapshot_deleted" | "canceled" | "agent_absent" | "agent_revoked" | "target_refused" | "target_full" | "write_failed" | "internal" | (string & {});
}

export interface RestoreFailure {
  /** Why it ended without its files. */
  readonly code: "content_damaged" | "snapshot_deleted" | "canceled" | "agent_absent" | "agent_revoked" | "target_refused" | "target_full" | "write_failed" | "internal" | (string & {});
  /** The code in words, in the language of `Accept-Language`. */
  readonly detail: string;
  /** Whether the same restore may succeed later. */
  readonly retryable: boolean;
}

export interface RestorePage {
  readonly data: readonly Restore[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RestoreStarted {
  /** The type of the event. */
  readonly event: "restore.started";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The restore. */
  readonly restore_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
}

export interface RestoreTarget {
  /** Where the files go: an archive to download, or a machine that runs the agent. */
  readonly kind: "download" | "agent" | (string & {});
  /** With `download`: the kind of archive. */
  readonly format?: "tar" | "zip" | (string & {}) | undefined;
  /** With `agent`: the agent. */
  readonly agent_id?: string | undefined;
  readonly path?: string | null | undefined;
  /** What the agent does where a file is there already: it writes under another name (`rename`), leaves the file (`skip`), or replaces it (`overwrite`, where the machine permits it). */
  readonly on_conflict?: "rename" | "skip" | "overwrite" | (string & {}) | undefined;
}

export interface RestoreVerification {
  /** Files that were read and are what their hashes say. */
  readonly checked_files: number;
  /** Files and directories that could not be read whole; `GET …/warnings` names them. */
  readonly failed: number;
  /** When everything had been read. */
  readonly completed_at: string;
}

export interface RestoreWarningPage {
  readonly data: readonly SnapshotWarning[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RestoreWithPaths {
  /** Id of the restore. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault. */
  readonly vault_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  readonly target: RestoreTarget;
  /** What happens when files cannot be read: the restore fails and names them (`fail`), or it has the others (`skip`). */
  readonly on_damage: "fail" | "skip" | (string & {});
  readonly path_count: number | null;
  /** How far it is. */
  readonly status: "pending" | "running" | "completed" | "failed" | "canceled" | (string & {});
  /** Bytes of the files that were asked for. */
  readonly bytes_total: number;
  /** Bytes of the files that were read so far, or written by the agent. */
  readonly bytes_restored: number;
  /** Files that were asked for. */
  readonly files_total: number;
  /** Files that were read so far, or written by the agent. */
  readonly files_restored: number;
  readonly verification: RestoreVerification | null;
  /** What `GET …/warnings` lists: what could not be read, and what the agent did otherwise. */
  readonly warning_count: number;
  readonly failure: RestoreFailure | null;
  readonly download: RestoreDownload | null;
  readonly created_by: RestoreCreator;
  /** When it was accepted. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** Counts its changes of state. */
  readonly version: number;
  readonly paths: readonly (string | {
    /** The bytes of the path, for one that is not UTF-8. */
    readonly base64: string;
  })[] | null;
  /** What could not be read; the first 100. `GET …/warnings` has all of them. */
  readonly warnings: readonly SnapshotWarning[];
}

export interface Retention {
  readonly keep_last: number | null;
  readonly keep_hourly: number | null;
  readonly keep_daily: number | null;
  readonly keep_weekly: number | null;
  readonly keep_monthly: number | null;
  readonly keep_yearly: number | null;
  readonly keep_within_days: number | null;
  readonly floor_days: number | null;
  readonly ceiling_days: number | null;
  /** Whether it is the policy of the vault, because the source has none. */
  readonly inherited: boolean;
  readonly pending: PendingRetention | null;
}

export interface RetentionPolicyChange {
  readonly keep_last?: number | null | undefined;
  readonly keep_hourly?: number | null | undefined;
  readonly keep_daily?: number | null | undefined;
  readonly keep_weekly?: number | null | undefined;
  readonly keep_monthly?: number | null | undefined;
  readonly keep_yearly?: number | null | undefined;
  readonly keep_within_days?: number | null | undefined;
  readonly floor_days?: number | null | undefined;
  readonly ceiling_days?: number | null | undefined;
}

export interface RetentionSimulated {
  /** Snapshots that would go. */
  readonly removed: number;
  /** Snapshots that would stay. */
  readonly kept: number;
  /** Stored bytes that the removal frees. */
  readonly freed_bytes: number;
  /** Bytes that a later repack frees, as an estimate. */
  readonly repack_bytes: number;
  /** Those that go first, then the others; the oldest first. */
  readonly snapshots: readonly SimulatedSnapshot[];
}

export interface RetentionSimulation {
  /** All sources of this vault. */
  readonly vault_id?: string | undefined;
  /** This source; either this or `vault_id`. */
  readonly source_id?: string | undefined;
  readonly policy?: SimulatedPolicy | undefined;
}

export interface RotatedSecret {
  /** The client. */
  readonly client_id: string;
  /** Shown only in this answer. Keep it where only the client can read it. */
  readonly secret: string;
}

export interface SecondFactorReset {
  /** Id of the reset. */
  readonly id: string;
  /** When it takes effect. */
  readonly effective_at: string;
}

export interface SecretRotation {
  /** Seconds (86400). */
  readonly overlap_s?: number | undefined;
}

export interface Session {
  /** Id of the session. */
  readonly id: string;
  /** The kind of its tokens. */
  readonly kind: "api" | "dashboard" | "agent" | (string & {});
  readonly client_id: string | null;
  /** Whether this is the session of the request. */
  readonly current: boolean;
  /** When the account was created. */
  readonly created_at: string;
  /** When it was last refreshed. */
  readonly last_used_at: string;
  /** When it expires if it is not used again. */
  readonly expires_at: string;
}

export interface SessionPage {
  readonly data: readonly Session[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SharedAuditContext {
  /** The request. */
  readonly request_id?: string | undefined;
  /** The operation of the request. */
  readonly operation?: string | undefined;
  /** The session of the request. */
  readonly session_id?: string | undefined;
  /** The member of the session, or a name that stands for it. */
  readonly member_id?: string | undefined;
  /** The OAuth client of the session. */
  readonly client_id?: string | undefined;
  /** The network that the request came from. */
  readonly address?: string | undefined;
}

export interface SharedAuditPage {
  readonly data: readonly SharedAuditRecord[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SharedAuditRecord {
  /** Id of the record. */
  readonly id: string;
  /** The audit chain: the id of an account, or `platform`. */
  readonly chain: string;
  readonly seq: number;
  /** When. */
  readonly occurred_at: string;
  /** What. */
  readonly action: string;
  readonly actor: {
    /** Kind of the actor. `share`: an outside auditor with a share. */
    readonly kind: "anonymous" | "system" | "member" | "client" | "agent" | "staff" | "share" | (string & {});
    /** Id of the actor. */
    readonly id?: string | undefined;
  };
  readonly targets: readonly ({
    /** Kind of the object. */
    readonly type: string;
    /** Its id. */
    readonly id: string;
  })[];
  readonly context: SharedAuditContext;
  /** Result of the action. */
  readonly outcome: "success" | "failure" | (string & {});
  /** Data about the action, without personal data. */
  readonly metadata: { readonly [name: string]: unknown };
  /** The hash of the record before it, in hexadecimal digits. */
  readonly prev_hash: string;
  /** The hash of this record. */
  readonly hash: string;
  readonly person: string | null;
  /** Parts of the record are not shown. Its hash covers them. */
  readonly masked: boolean;
}

export interface SignatureFinding {
  /** The first difference; `valid` when there is none. */
  readonly finding: "valid" | "malformed_header" | "clock_behind" | "clock_ahead" | "wrong_secret" | "old_secret" | "changed_body" | "wrong_event_id" | "does_not_fit" | (string & {});
  readonly clock_offset_s: number | null;
}

export interface SignatureQuestion {
  /** The value of `X-Service-Signature`, or of `webhook-signature` with the two fields below. */
  readonly signature: string;
  /** The value of the header `webhook-id`. */
  readonly webhook_id?: string | undefined;
  /** The value of the header `webhook-timestamp`. */
  readonly webhook_timestamp?: string | undefined;
  /** The body as text, or as base64 with `body_encoding`. */
  readonly body: string;
  /** How `body` is written here (`utf-8`). */
  readonly body_encoding?: "utf-8" | "base64" | undefined;
  /** The event, if the body cannot be read any more. */
  readonly event_id?: string | undefined;
  /** The secret that the receiver uses. It is compared and forgotten. */
  readonly secret?: string | undefined;
  /** What the receiver's clock said; now when absent. */
  readonly received_at?: string | undefined;
}

export interface SimulatedPolicy {
  readonly keep_last?: number | null | undefined;
  readonly keep_hourly?: number | null | undefined;
  readonly keep_daily?: number | null | undefined;
  readonly keep_weekly?: number | null | undefined;
  readonly keep_monthly?: number | null | undefined;
  readonly keep_yearly?: number | null | undefined;
  readonly keep_within_days?: number | null | undefined;
  readonly floor_days?: number | null | undefined;
  readonly ceiling_days?: number | null | undefined;
}

export interface SimulatedSnapshot {
  /** The snapshot. */
  readonly id: string;
  /** Its source. */
  readonly source_id: string;
  /** When it was completed. */
  readonly completed_at: string;
  readonly removed_by: "policy" | "ceiling" | "deletion" | (string & {}) | null;
  /** Why it stays. */
  readonly reasons: readonly ("hold" | "lock" | "restore" | "frozen" | "young" | "floor" | "newest" | "newest_good" | "no_rule" | "keep_last" | "keep_hourly" | "keep_daily" | "keep_weekly" | "keep_monthly" | "keep_yearly" | "keep_within_days" | (string & {}))[];
}

export interface SmsCodeRequest {
  /** E-mail address. */
  readonly email?: string | undefined;
  /** Password. */
  readonly password?: string | undefined;
}

export interface Snapshot {
  /** Id of the snapshot. */
  readonly id: string;
  /** The account. */
  readonly account_id: string;
  /** The vault that holds it. */
  readonly vault_id: string;
  readonly source: SnapshotSource;
  readonly label: string | null;
  /** What started the backup. */
  readonly trigger: "manual" | "api" | "schedule" | "e_archive" | (string & {});
  /** How far it is. */
  readonly status: "queued" | "running" | "completed" | "failed" | "canceled" | "expired" | (string & {});
  readonly size_bytes: number | null;
  /** What it added to storage. Not shown to clients that only write. */
  readonly stored_bytes?: number | undefined;
  readonly file_count: number | null;
  readonly warning_count: number | null;
  readonly root_hash: string | null;
  readonly parent_id: string | null;
  readonly failure: SnapshotFailure | null;
  readonly verified_at: string | null;
  readonly verification?: SnapshotVerification | null | undefined;
  readonly retention: SnapshotRetention;
  /** Facts of your own: at most 50 keys with texts of at most 500 characters. */
  readonly metadata: { readonly [name: string]: string };
  readonly external_reference: string | null;
  readonly created_by: SnapshotCreator;
  /** When it was created. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** Counts its changes. */
  readonly version: number;
}

export interface SnapshotChange {
  readonly label?: string | null | undefined;
  /** Facts of your own: at most 50 keys with texts of at most 500 characters. */
  readonly metadata?: { readonly [name: string]: string } | undefined;
}

export interface SnapshotCompleted {
  /** The type of the event. */
  readonly event: "snapshot.completed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Bytes of the snapshot's files. */
  readonly size_bytes: number;
}

export interface SnapshotCreator {
  /** What made it. */
  readonly kind: "client" | "agent" | "member" | (string & {});
  /** Which one. */
  readonly id: string;
}

export interface SnapshotDiffPage {
  readonly from_snapshot_id: string | null;
  readonly data: readonly PathChange[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SnapshotFailed {
  /** The type of the event. */
  readonly event: "snapshot.failed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Why. */
  readonly failure: "upload_abandoned" | "upload_interrupted" | "quota_exceeded" | "storage_full" | "invalid_archive" | "content_mismatch" | "verification_failed" | "canceled" | "internal" | (string & {});
}

export interface SnapshotFailure {
  /** Why the upload ended without a snapshot. */
  readonly code: "upload_abandoned" | "upload_interrupted" | "quota_exceeded" | "storage_full" | "invalid_archive" | "content_mismatch" | "verification_failed" | "canceled" | "internal" | (string & {});
  /** The code in words, in the language of `Accept-Language`. */
  readonly detail: string;
  /** Whether the same upload may succeed later. */
  readonly retryable: boolean;
}

/** The hold; null: there is none. */
export interface SnapshotHold {
  /** Why it is held. */
  readonly reason: string;
  readonly review_at: string | null;
  /** Since when. */
  readonly held_at: string;
}

export interface SnapshotPage {
  readonly data: readonly Snapshot[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SnapshotRetention {
  readonly expires_at: string | null;
  readonly locked_until: string | null;
  /** Whether a legal hold keeps it. */
  readonly legal_hold: boolean;
  readonly hold: SnapshotHold | null;
  readonly suspicion: SnapshotSuspicion | null;
}

export interface SnapshotSource {
  /** The source. */
  readonly id: string;
  readonly name: string;
  /** What the source is. */
  readonly kind: string;
}

export interface SnapshotStarted {
  /** The type of the event. */
  readonly event: "snapshot.started";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** The source. */
  readonly source_id: string;
  /** What started the backup. */
  readonly trigger: "manual" | "api" | "schedule" | "e_archive" | (string & {});
}

/** Most files were lost or changed; null: nothing is wrong. */
export interface SnapshotSuspicion {
  /** Files of the snapshot before that are gone. */
  readonly lost: number;
  /** Files whose content is another one. */
  readonly changed: number;
  /** When it was found. */
  readonly found_at: string;
  readonly accepted_at: string | null;
}

/** A verification that was asked for and has not ended. Only where one snapshot is read. */
export interface SnapshotVerification {
  /** How far it is. */
  readonly status: "queued" | "running" | (string & {});
  /** Files that were compared so far. */
  readonly checked_files: number;
}

export interface SnapshotWarning {
  /** Path of the file. */
  readonly path: string;
  /** The bytes of `path`, only where they are not UTF-8. */
  readonly path_base64?: string | undefined;
  /** Why: a system error code, `changed`, `special_file`, `link_target_missing`, `trailing_bytes`, `unlisted_bytes`, `name_twin` … */
  readonly code: string;
}

export interface SnapshotWarningPage {
  readonly data: readonly SnapshotWarning[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Source {
  /** Id of the source. */
  readonly id: string;
  /** The vault it is backed up into. */
  readonly vault_id: string;
  /** Name, unique in its vault. It must not have the form of a UUID. */
  readonly name: string;
  /** What is backed up. */
  readonly kind: "files" | "database" | "e_archive" | "other" | (string & {});
  readonly expected_every: number | null;
  /** Names that it had before. Uploads that use one find this source. */
  readonly aliases: readonly string[];
  /** `never`: no snapshot was completed yet. `late`: the last one is older than `expected_every`. `ok`: neither. */
  readonly freshness: "ok" | "late" | "never" | (string & {});
  readonly last_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** Its status. */
    readonly status: string;
    readonly completed_at: string | null;
  } | null;
  readonly last_good_at: string | null;
  readonly size_bytes: number | null;
  /** When it was made. */
  readonly created_at: string;
  readonly version: number;
}

export interface SourceChange {
  /** Name, unique in its vault. It must not have the form of a UUID. */
  readonly name?: string | undefined;
  /** What is backed up. */
  readonly kind?: "files" | "database" | "e_archive" | "other" | undefined;
  readonly expected_every?: number | null | undefined;
}

export interface SourceOverdue {
  /** The type of the event. */
  readonly event: "source.overdue";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The source. */
  readonly source_id: string;
  readonly last_snapshot_id: string | null;
  /** When the next one was expected. */
  readonly expected_at: string;
}

export interface SourcePage {
  readonly data: readonly Source[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SourceSuspicious {
  /** The type of the event. */
  readonly event: "source.suspicious";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The source. */
  readonly source_id: string;
  /** The snapshot. */
  readonly snapshot_id: string;
  /** Files that are gone. */
  readonly lost: number;
  /** Files that are different. */
  readonly changed: number;
}

export interface SourceWriter {
  /** What it is. */
  readonly kind: "client" | "agent" | "member" | (string & {});
  /** Id of the client, agent or member. */
  readonly id: string;
  readonly bound_by: string | null;
  /** When it was bound. */
  readonly bound_at: string;
}

export interface SourceWriterChange {
  /** All writers that the source is to have. */
  readonly writers: readonly ({
    /** What it is. */
    readonly kind: "client" | "agent" | "member";
    /** Id of the client, agent or member. */
    readonly id: string;
  })[];
}

export interface SourceWriterList {
  /** The writers. */
  readonly data: readonly SourceWriter[];
}

export interface StepUpRequest {
  /** Six digits of the authenticator or of an SMS, or a recovery code (`xxxxx-xxxxx`). */
  readonly totp_code: string;
  /** For an SMS code: its `challenge_id`. */
  readonly otp_challenge_id?: string | undefined;
}

export interface StoredFile {
  /** Bytes of the file. */
  readonly size_bytes: number;
  /** Opaque; equal hashes of one vault mean equal content. */
  readonly hash: string;
}

export interface SubscriptionFailed {
  /** The type of the event. */
  readonly event: "subscription.failed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The subscription. */
  readonly subscription_id: string;
  /** The package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate" | (string & {});
  /** Why. */
  readonly failure: string;
  /** Number of the attempt. */
  readonly attempt: number;
  readonly next_retry_at: string | null;
}

export interface SubscriptionRenewed {
  /** The type of the event. */
  readonly event: "subscription.renewed";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The subscription. */
  readonly subscription_id: string;
  /** The package. */
  readonly package: "starter" | "professional" | "accountant" | "corporate" | (string & {});
  /** The month. */
  readonly period: string;
}

export interface Taxpayer {
  /** Id of the taxpayer. */
  readonly id: string;
  /** Name of the taxpayer. */
  readonly name: string;
  /** `archived`: no longer a client; its backups stay. */
  readonly state: "active" | "archived" | (string & {});
  /** Tax number; only its last four digits are shown. */
  readonly tax_id: string;
  /** `vkn`: of a firm (10 digits). `tckn`: of a person (11 digits). */
  readonly tax_id_kind: "vkn" | "tckn" | (string & {});
  /** Its own vault. */
  readonly vault_id: string;
  /** `never`: no snapshot was completed yet. `late`: the last one is older than `expected_every`. `ok`: neither. */
  readonly freshness: "ok" | "late" | "never" | (string & {});
  readonly last_snapshot: {
    /** Id of the snapshot. */
    readonly id: string;
    /** Its status. */
    readonly status: string;
    readonly completed_at: string | null;
  } | null;
  readonly last_good_at: string | null;
  readonly size_bytes: number | null;
  /** When it was made. */
  readonly created_at: string;
  readonly version: number;
}

export interface TaxpayerChange {
  /** Name of the taxpayer. */
  readonly name?: string | undefined;
  /** `archived`: no longer a client; its backups stay. */
  readonly state?: "active" | "archived" | undefined;
}

export interface TaxpayerPage {
  readonly data: readonly Taxpayer[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface TokenAnswer {
  /** JWT (RFC 9068), for `Authorization: Bearer`. */
  readonly access_token: string;
  readonly token_type: "Bearer";
  /** Seconds. */
  readonly expires_in: number;
  /** Scopes of the token. */
  readonly scope: string;
  /** Use it to get the next token. It replaces the previous refresh token. */
  readonly refresh_token?: string | undefined;
}

export interface TokenReference {
  /** An access or refresh token. */
  readonly token: string;
  /** `access_token` or `refresh_token`; only a hint, it can be wrong. */
  readonly token_type_hint?: string | undefined;
  /** The client; not needed with HTTP Basic. */
  readonly client_id?: string | undefined;
  /** `client_secret_post`: its secret. */
  readonly client_secret?: string | undefined;
  /** `private_key_jwt` (RFC 7523). */
  readonly client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" | undefined;
  /** `private_key_jwt`: a JWT signed by the client. It can be used once. */
  readonly client_assertion?: string | undefined;
}

export interface TokenRequest {
  /** How the token is obtained. */
  readonly grant_type: "authorization_code" | "client_credentials" | "refresh_token" | "urn:ietf:params:oauth:grant-type:device_code";
  /** Scopes, separated by spaces. Default: all scopes of the client, or of the refreshed grant. */
  readonly scope?: string | undefined;
  /** `authorization_code`: the code. */
  readonly code?: string | undefined;
  /** `authorization_code`: as in the request. */
  readonly redirect_uri?: string | undefined;
  /** PKCE (RFC 7636). */
  readonly code_verifier?: string | undefined;
  /** Device flow: the device code. */
  readonly device_code?: string | undefined;
  /** `refresh_token`: the newest one; one that was replaced more than 30 seconds ago ends the grant. */
  readonly refresh_token?: string | undefined;
  /** The client; not needed with HTTP Basic. */
  readonly client_id?: string | undefined;
  /** `client_secret_post`: its secret. */
  readonly client_secret?: string | undefined;
  /** `private_key_jwt` (RFC 7523). */
  readonly client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" | undefined;
  /** `private_key_jwt`: a JWT signed by the client. It can be used once. */
  readonly client_assertion?: string | undefined;
}

export interface TotpConfirmation {
  /** Six digits. */
  readonly totp_code: string;
}

export interface TotpSetup {
  /** The secret in base32, to type it in. */
  readonly totp_secret: string;
  /** For authenticators. */
  readonly otpauth_uri: string;
  /** The same as a QR code in SVG. */
  readonly qr_svg: string;
  /** The same as a QR code in PNG, in base64. */
  readonly qr_png: string;
}

export interface TreeEntry {
  /** Last part of the path. */
  readonly name: string;
  /** The bytes of `name`, only where they are not UTF-8. */
  readonly name_base64?: string | undefined;
  /** Path in the snapshot. */
  readonly path: string;
  /** The bytes of `path`, only where they are not UTF-8. */
  readonly path_base64?: string | undefined;
  /** What it is. */
  readonly type: "file" | "directory" | "link" | (string & {});
  readonly size_bytes: number | null;
  /** When it was changed last. */
  readonly mtime: string;
  /** Permissions, octal. */
  readonly mode: string;
  readonly hash: string | null;
  /** SHA-256 of the content, where it was computed. */
  readonly sha256?: string | undefined;
  readonly link_target: string | null;
  /** The bytes of `link_target`, only where they are not UTF-8. */
  readonly link_target_base64?: string | undefined;
}

export interface TreePage {
  readonly data: readonly TreeEntry[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface UpkeepChange {
  /** True pauses, false resumes. */
  readonly paused: boolean;
  /** The reason. It is stored in the audit trail, so it must not contain personal data. */
  readonly reason: string;
}

export interface UpkeepPaused {
  /** Whether it is paused. */
  readonly paused: boolean;
}

export interface UsageDay {
  /** The day. */
  readonly day: string;
  /** What is stored, after deduplication and compression. */
  readonly stored_bytes: number;
  /** Bytes of the files of the last completed snapshots of its sources. */
  readonly size_bytes: number;
}

export interface UsagePage {
  readonly data: readonly VaultUsage[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface UsageTotal {
  /** How many vaults there are. */
  readonly vaults: number;
  /** What is stored, after deduplication and compression. */
  readonly stored_bytes: number;
  /** Bytes of the files of the last completed snapshots of its sources. */
  readonly size_bytes: number;
  readonly quota_bytes: number | null;
  /** What was stored at the end of each day, today until now. Days before the first count are left out. */
  readonly days: readonly UsageDay[];
}

export interface Vault {
  /** Id of the vault. */
  readonly id: string;
  /** Name of the vault. */
  readonly name: string;
  readonly quota_bytes: number | null;
  readonly quota_warning_bytes: number | null;
  /** `default`: used where an upload names no vault; every account has one. `taxpayer`: the vault of a taxpayer. */
  readonly kind: "default" | "taxpayer" | "other" | (string & {});
  readonly taxpayer_id: string | null;
  /** Where it is stored. `service`: in the object store of this service. */
  readonly storage: "service";
  /** What is stored, after deduplication and compression, unfinished uploads included. */
  readonly stored_bytes: number;
  /** Its sources. */
  readonly source_count: number;
  readonly last_verification: {
    /** Files that were compared. */
    readonly checked_files: number;
    /** Findings: what was missing or not what it should be. */
    readonly failed: number;
    /** When it ended. */
    readonly completed_at: string;
  } | null;
  readonly upkeep: VaultUpkeep;
  /** The number of its newest key pair. */
  readonly key_epoch: number;
  readonly keys_rotated_at: string | null;
  /** When it was made. */
  readonly created_at: string;
  readonly version: number;
}

export interface VaultChange {
  /** Name of the vault. */
  readonly name?: string | undefined;
  readonly quota_bytes?: number | null | undefined;
  readonly quota_warning_bytes?: number | null | undefined;
}

export interface VaultPage {
  readonly data: readonly Vault[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface VaultQuotaWarning {
  /** The type of the event. */
  readonly event: "vault.quota_warning";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The vault. */
  readonly vault_id: string;
  /** What is stored, unfinished uploads included. */
  readonly stored_bytes: number;
  /** The vault's quota; without one, its `quota_warning_bytes`. */
  readonly quota_bytes: number;
}

/** What the service does by itself, and what it found. */
export interface VaultUpkeep {
  /** Whether staff have paused it. */
  readonly paused: boolean;
  readonly scrubbed_at: string | null;
  readonly scrub_round_ended_at: string | null;
  /** What the last scrub found missing or damaged. */
  readonly scrub_findings: number;
  /** Frames that are damaged still; a backup that has their content heals them. */
  readonly damaged_frames: number;
  readonly healed_at: string | null;
  readonly repacked_at: string | null;
}

export interface VaultUsage {
  /** The vault. */
  readonly vault_id: string;
  /** Its name. */
  readonly name: string;
  /** What is stored, after deduplication and compression. */
  readonly stored_bytes: number;
  /** Bytes of the files of the last completed snapshots of its sources. */
  readonly size_bytes: number;
  readonly quota_bytes: number | null;
  readonly quota_reached_on: string | null;
  /** What was stored at the end of each day, today until now. Days before the first count are left out. */
  readonly days: readonly UsageDay[];
}

export interface Webhook {
  /** The webhook. */
  readonly id: string;
  /** Where events are sent: https, a public host, no user name or password in it. */
  readonly url: string;
  /** What is sent. */
  readonly events: readonly ("*" | "account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test" | (string & {}))[];
  readonly description: string | null;
  /** Nothing is sent to a disabled one. */
  readonly status: "enabled" | "disabled" | (string & {});
  readonly disabled_reason: "requested" | "delivery_failed" | "gone" | "creator_lost_access" | (string & {}) | null;
  readonly disabled_at: string | null;
  readonly vault_ids: readonly string[] | null;
  /** When it was created. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly updated_at: string;
  readonly version: number;
}

export interface WebhookAttempt {
  /** Its number in the schedule, from 1; that of the last scheduled one for an attempt that a person asked for. */
  readonly number: number;
  /** A person asked for it, beside the schedule. */
  readonly is_manual: boolean;
  /** When it began; the `t` of its signature. */
  readonly at: string;
  readonly status: number | null;
  readonly error: "status" | "redirect" | "timeout" | "dns" | "connection" | "tls" | "protocol" | "blocked" | "expired" | (string & {}) | null;
  /** Until the head of the answer, or until the failure. */
  readonly duration_ms: number;
}

export interface WebhookChange {
  /** Where events are sent: https, a public host, no user name or password in it. */
  readonly url?: string | undefined;
  /** What is sent. */
  readonly events?: readonly ("*" | "account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test")[] | undefined;
  readonly description?: string | null | undefined;
}

export interface WebhookCreated {
  /** The webhook. */
  readonly id: string;
  /** Where events are sent: https, a public host, no user name or password in it. */
  readonly url: string;
  /** What is sent. */
  readonly events: readonly ("*" | "account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test" | (string & {}))[];
  readonly description: string | null;
  /** Nothing is sent to a disabled one. */
  readonly status: "enabled" | "disabled" | (string & {});
  readonly disabled_reason: "requested" | "delivery_failed" | "gone" | "creator_lost_access" | (string & {}) | null;
  readonly disabled_at: string | null;
  readonly vault_ids: readonly string[] | null;
  /** When it was created. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly updated_at: string;
  readonly version: number;
  /** The secret that deliveries are signed with. It is shown only here. */
  readonly secret: string;
}

export interface WebhookDelivery {
  /** The delivery. */
  readonly id: string;
  /** The webhook. */
  readonly webhook_id: string;
  /** The type of the event. */
  readonly event: string;
  /** The event; the `webhook-id` of every attempt. */
  readonly event_id: string;
  readonly sequence: number;
  /** Why it was made: an event, a test, or a replay of an event. */
  readonly kind: "event" | "test" | "replay" | (string & {});
  /** `retrying`: an attempt failed and there is a next one. `failed`: there is none. */
  readonly status: "pending" | "retrying" | "delivered" | "failed" | (string & {});
  /** Attempts of the schedule so far, of 7. */
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: WebhookAttempt | null;
  /** When the event happened, or was replayed. */
  readonly created_at: string;
}

export interface WebhookDeliveryDetail {
  /** The delivery. */
  readonly id: string;
  /** The webhook. */
  readonly webhook_id: string;
  /** The type of the event. */
  readonly event: string;
  /** The event; the `webhook-id` of every attempt. */
  readonly event_id: string;
  readonly sequence: number;
  /** Why it was made: an event, a test, or a replay of an event. */
  readonly kind: "event" | "test" | "replay" | (string & {});
  /** `retrying`: an attempt failed and there is a next one. `failed`: there is none. */
  readonly status: "pending" | "retrying" | "delivered" | "failed" | (string & {});
  /** Attempts of the schedule so far, of 7. */
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly last_attempt: WebhookAttempt | null;
  /** When the event happened, or was replayed. */
  readonly created_at: string;
  /** The newest, oldest first. */
  readonly attempts: readonly WebhookAttempt[];
  readonly body: string | null;
}

export interface WebhookDeliveryPage {
  readonly data: readonly WebhookDelivery[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WebhookHour {
  /** The beginning of the hour. */
  readonly hour: string;
  /** Attempts that succeeded. */
  readonly delivered: number;
  /** Attempts that failed. */
  readonly failed: number;
}

export interface WebhookPage {
  readonly data: readonly Webhook[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WebhookQueued {
  /** Deliveries that will be sent. */
  readonly queued: number;
}

export interface WebhookReplay {
  /** The first moment. */
  readonly from: string;
  /** The moment after the last one. */
  readonly to?: string | undefined;
  /** Only these types. */
  readonly events?: readonly ("account.suspended" | "vault.quota_warning" | "source.overdue" | "agent.registered" | "snapshot.started" | "snapshot.completed" | "snapshot.failed" | "restore.started" | "restore.completed" | "restore.failed" | "audit.share_created" | "audit.share_revoked" | "source.suspicious" | "deletion.scheduled" | "deletion.canceled" | "deletion.completed" | "billing.charged" | "subscription.renewed" | "subscription.failed" | "byos.token_expired" | "mukellef.transferred" | "webhook.test")[] | undefined;
}

export interface WebhookSecretRotated {
  /** The secret that deliveries are signed with. It is shown only here. */
  readonly secret: string;
  /** Until when the old secret signs too. */
  readonly previous_expires_at: string;
}

export interface WebhookSecretRotation {
  /** Seconds (86400). */
  readonly grace_s?: number | undefined;
}

export interface WebhookStatistics {
  /** The webhook. */
  readonly webhook_id: string;
  readonly success_share: number | null;
  readonly median_ms: number | null;
  /** Deliveries that failed and will be tried again. */
  readonly retrying: number;
  /** Deliveries that failed for good. */
  readonly failed: number;
  readonly failing_since: string | null;
  readonly will_disable_at: string | null;
  /** The last 48 hours, oldest first. */
  readonly hours: readonly WebhookHour[];
}

export interface WebhookTest {
  /** The type of the event. */
  readonly event: "webhook.test";
  /** The event; the same in every delivery of it. */
  readonly event_id: string;
  /** Its number in the account's stream. */
  readonly sequence: number;
  /** The account. */
  readonly account_id: string;
  /** When it happened. */
  readonly created_at: string;
  /** The webhook. */
  readonly webhook_id: string;
}

export interface WebhookTestSent {
  /** The event. */
  readonly event_id: string;
}

export interface Withdrawal {
  /** The part after `#` in the link of the mail. */
  readonly token: string;
}

