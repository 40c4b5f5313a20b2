-- Snapshots, as the API shows them. The catalog of the vault has another row for each completed one, under the same id, and
-- both are written in one commit. The states are in packages/server/src/snapshots/rules.ts.

create table emanet.snapshots (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  source_id uuid not null references emanet.sources (id),
  state text not null
    check (state in ('queued', 'running', 'completed', 'failed', 'canceled', 'expired', 'deleted')),
  -- How its content comes: in the body of one request, or in many requests.
  upload_kind text not null check (upload_kind in ('one_call', 'upload')),
  label text check (length(label) between 1 and 200),
  trigger text not null check (trigger in ('manual', 'api', 'schedule', 'e_archive')),
  external_reference text check (length(external_reference) between 1 and 200),
  metadata jsonb not null default '{}',
  created_by_kind text not null check (created_by_kind in ('client', 'agent', 'member')),
  created_by_id uuid not null,
  -- Whether its writer may not read: then the upload learns only of what this writer stored.
  is_write_only boolean not null,
  parent_id uuid,
  -- What it added to storage, while it is uploaded too. The next four are null until it is completed.
  stored_bytes bigint not null default 0 check (stored_bytes >= 0),
  size_bytes bigint check (size_bytes >= 0),
  file_count bigint check (file_count >= 0),
  warning_count bigint check (warning_count >= 0),
  root_hash bytea check (length(root_hash) = 32),
  failure_code text check (failure_code in ('upload_abandoned', 'upload_interrupted', 'quota_exceeded', 'storage_full',
    'invalid_archive', 'content_mismatch', 'verification_failed', 'canceled', 'internal')),
  -- More exactly, where the code has several reasons.
  failure_reason text,
  -- The last verification: all of it was read back and was right, or something was not.
  verified_at timestamptz,
  verification_failed_at timestamptz,
  expires_at timestamptz,
  locked_until timestamptz,
  legal_hold boolean not null default false,
  created_at timestamptz not null,
  started_at timestamptz,
  completed_at timestamptz,
  -- When something of an open upload arrived last.
  active_at timestamptz not null,
  -- By the time of the database: when the process that receives it in one call last said that it lives.
  alive_at timestamptz,
  -- What it was before it was deleted, and when.
  deleted_state text check (deleted_state in ('completed', 'failed', 'canceled', 'expired')),
  deleted_at timestamptz,
  version integer not null default 1,
  check ((state = 'completed') <= (root_hash is not null)),
  check ((state = 'completed') <= (size_bytes is not null and file_count is not null and warning_count is not null)),
  check ((state in ('failed', 'canceled')) <= (failure_code is not null)),
  check ((state = 'deleted') = (deleted_state is not null))
);

-- Lists, newest first, of an account, a vault or a source.
create index snapshots_account on emanet.snapshots (account_id, created_at, id) where state <> 'deleted';
create index snapshots_vault on emanet.snapshots (vault_id, created_at, id) where state <> 'deleted';
create index snapshots_source on emanet.snapshots (source_id, created_at, id);
-- Few are open, deleted or not verified yet at any time.
create index snapshots_open on emanet.snapshots (account_id, active_at) where state in ('queued', 'running');
create index snapshots_deleted on emanet.snapshots (deleted_at) where state = 'deleted';

alter table emanet.snapshots enable row level security;
alter table emanet.snapshots force row level security;
create policy tenancy on emanet.snapshots using (emanet.in_scope(account_id));

grant select, insert, update on emanet.snapshots to emanet_app;
