-- Retention: policies, holds, locks, acts that wait, suspicious snapshots (packages/server/src/retention). The chain of each vault has the
-- same, signed; before anything is removed the two are compared.

create table emanet.retention_policies (
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  -- Null: of the vault, for the sources without a policy of their own.
  source_id uuid references emanet.sources (id),
  keep_last integer check (keep_last > 0),
  keep_hourly integer check (keep_hourly > 0),
  keep_daily integer check (keep_daily > 0),
  keep_weekly integer check (keep_weekly > 0),
  keep_monthly integer check (keep_monthly > 0),
  keep_yearly integer check (keep_yearly > 0),
  keep_within_days integer check (keep_within_days > 0),
  floor_days integer check (floor_days > 0),
  ceiling_days integer check (ceiling_days > 0),
  updated_at timestamptz not null,
  version integer not null default 1,
  unique nulls not distinct (vault_id, source_id),
  check (floor_days <= ceiling_days)
);

-- Acts that could remove a snapshot earlier. They wait 72 hours, and any owner cancels them.
create table emanet.pending_acts (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  kind text not null check (kind in
    ('policy_change', 'hold_release', 'acceptance', 'source_deletion', 'taxpayer_deletion', 'vault_deletion')),
  source_id uuid references emanet.sources (id),
  snapshot_id uuid references emanet.snapshots (id),
  taxpayer_id uuid references emanet.taxpayers (id),
  -- Of a policy_change: the new policy.
  policy jsonb,
  -- waiting → done, canceled (by an owner, or replaced by a newer act), refused (something is held or locked, or the chain has no such act)
  state text not null check (state in ('waiting', 'done', 'canceled', 'refused')),
  created_by uuid not null,
  canceled_by uuid,
  created_at timestamptz not null,
  due_at timestamptz not null,
  ended_at timestamptz,
  check ((kind = 'policy_change') = (policy is not null)),
  check ((kind in ('hold_release', 'acceptance')) = (snapshot_id is not null)),
  check ((state = 'waiting') = (ended_at is null))
);
create index pending_acts_list on emanet.pending_acts (account_id, created_at desc, id desc);
create index pending_acts_waiting on emanet.pending_acts (due_at, id) where state = 'waiting';
create index pending_acts_vault on emanet.pending_acts (vault_id) where state = 'waiting';

do $$
declare
  name text;
begin
  foreach name in array array['retention_policies', 'pending_acts']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
    execute format('grant select, insert, update on emanet.%I to emanet_app', name);
  end loop;
end
$$;

alter table emanet.snapshots
  -- Why people hold it, who did, and when they want to look at it again.
  add column hold_reason text check (length(hold_reason) between 1 and 500),
  add column hold_review_at timestamptz,
  add column held_by uuid,
  add column held_at timestamptz,
  -- When it was compared with the snapshot before it; null: not yet, or there is nothing to compare.
  add column assessed_at timestamptz,
  -- More than half of the files were lost or changed. Nothing of its source expires until it is accepted.
  add column suspicious_at timestamptz,
  add column lost_files bigint check (lost_files >= 0),
  add column changed_files bigint check (changed_files >= 0),
  add column accepted_at timestamptz,
  -- When retention ended. Its content is removed from then on.
  add column expired_at timestamptz,
  drop constraint snapshots_check4,
  add check ((removed_at is not null) <= (state in ('deleted', 'expired'))),
  add check ((state = 'expired') <= (expired_at is not null)),
  add check ((suspicious_at is null) = (lost_files is null) and (suspicious_at is null) = (changed_files is null));

create index snapshots_expired on emanet.snapshots (vault_id, expired_at) where expired_at is not null;
create index snapshots_unassessed on emanet.snapshots (created_at, id) where state = 'completed' and assessed_at is null;
create index snapshots_suspicious on emanet.snapshots (source_id) where suspicious_at is not null and accepted_at is null;

alter table emanet.sources add column deleted_at timestamptz;
alter table emanet.taxpayers add column deleted_at timestamptz;
alter table emanet.vaults
  add column deleted_at timestamptz,
  -- When retention was applied to it last.
  add column retention_applied_at timestamptz;
