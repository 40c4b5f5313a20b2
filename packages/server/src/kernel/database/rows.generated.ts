// The rows of the schema as the migrations leave it. Made by `npm run generate`; do not edit.

import type { ColumnType, Generated } from "kysely";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export interface Database {
  readonly applications: ApplicationsRow;
  readonly audit_heads: AuditHeadsRow;
  readonly audit_records: AuditRecordsRow;
  readonly event_heads: EventHeadsRow;
  readonly events: EventsRow;
  readonly idempotency_keys: IdempotencyKeysRow;
  readonly job_workers: JobWorkersRow;
  readonly jobs: JobsRow;
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
}

export interface AuditHeadsRow {
  readonly chain: string;
  readonly account_id: string | null;
  readonly seq: number;
  readonly hash: Buffer;
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
}

export interface EventHeadsRow {
  readonly account_id: string;
  readonly sequence: number;
}

export interface EventsRow {
  readonly account_id: string;
  readonly sequence: number;
  readonly id: string;
  readonly type: string;
  readonly payload: string;
  readonly created_at: Date;
}

export interface IdempotencyKeysRow {
  readonly id: Buffer;
  readonly account_id: string | null;
  readonly operation: string;
  readonly fingerprint: Buffer;
  readonly sealed_reply: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export interface JobWorkersRow {
  readonly id: string;
  readonly queues: Generated<readonly string[]>;
  readonly started_at: Date;
}

export interface JobsRow {
  readonly id: string;
  readonly task: string;
  readonly key: string | null;
  readonly payload: ColumnType<JsonValue | null, string | null | undefined, string | null>;
  readonly state: "scheduled" | "queued" | "failed";
  readonly attempt: Generated<number>;
  readonly dispatch: Generated<number>;
  readonly crashes: Generated<number>;
  readonly claimed_by: string | null;
  readonly run_at: Date;
  readonly created_at: Date;
  readonly failed_at: Date | null;
  readonly error_class: string | null;
  readonly error_code: string | null;
}
