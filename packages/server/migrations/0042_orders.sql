-- Restores to agents: *orders*. An order is the part of a restore that names the machine and what it may do there.
alter table emanet.restores
  drop constraint restores_target_kind_check,
  drop constraint restores_failure_code_check,
  drop constraint restores_check2,
  drop constraint restores_check3,
  alter column format drop not null,
  add constraint restores_target_kind_check check (target_kind in ('download', 'agent')),
  add constraint restores_failure_code_check check (failure_code in ('content_damaged', 'snapshot_deleted', 'canceled',
    'agent_absent', 'agent_revoked', 'target_refused', 'target_full', 'write_failed', 'internal')),
  add constraint restores_format_of_download check ((target_kind = 'download') = (format is not null)),
  add constraint restores_archive check ((target_kind = 'download' and state = 'completed') = (archive_bytes is not null)),
  add constraint restores_expiry check ((target_kind = 'download' and state = 'completed') = (expires_at is not null));

alter table emanet.restore_warnings
  drop constraint restore_warnings_code_check,
  add constraint restore_warnings_code_check
    check (code in ('content_damaged', 'entries_unreadable', 'skipped', 'renamed', 'not_written'));

create table emanet.restore_orders (
  restore_id uuid primary key references emanet.restores (id),
  account_id uuid not null references emanet.accounts (id),
  agent_id uuid not null references emanet.agents (id),
  -- The folder on the machine; null: a new one, below the machine's own root for restores.
  path text check (length(path) between 1 and 4096),
  on_conflict text not null check (on_conflict in ('rename', 'skip', 'overwrite')),
  -- When it was ready for the agent, and the items that its paths reach; null: those of the whole snapshot.
  planned_at timestamptz,
  reach bytea,
  -- The process of the agent that works on it, and when that process last reported.
  run_id uuid,
  reported_at timestamptz,
  -- Of the warnings, those about content that cannot be read.
  damaged_count integer not null default 0 check (damaged_count >= 0),
  check ((run_id is null) = (reported_at is null))
);

create index restore_orders_agent on emanet.restore_orders (agent_id, restore_id);

alter table emanet.restore_orders enable row level security;
alter table emanet.restore_orders force row level security;
create policy tenancy on emanet.restore_orders using (emanet.in_scope(account_id));
grant select, insert, update on emanet.restore_orders to emanet_app;
