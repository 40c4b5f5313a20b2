-- What was stored in each vault, by day in Istanbul. A recurring task writes a row for today when something has changed; a day without a
-- row is like the one before.
create table emanet.vault_usage (
  vault_id uuid not null references emanet.vaults (id),
  day date not null,
  account_id uuid not null references emanet.accounts (id),
  stored_bytes bigint not null check (stored_bytes >= 0),
  -- Of the files of the last completed snapshots of its sources.
  size_bytes bigint not null check (size_bytes >= 0),
  primary key (vault_id, day)
);
alter table emanet.vault_usage enable row level security;
alter table emanet.vault_usage force row level security;
create policy tenancy on emanet.vault_usage using (emanet.in_scope(account_id));
grant select, insert, update on emanet.vault_usage to emanet_app;

-- The last verification of a snapshot of the vault: when it ended, how many files it has compared, and how many findings it had.
alter table emanet.vaults
  add column last_verified_at timestamptz,
  add column last_verified_files bigint check (last_verified_files >= 0),
  add column last_verified_failed bigint check (last_verified_failed >= 0),
  add check ((last_verified_at is null) = (last_verified_files is null) and (last_verified_at is null) = (last_verified_failed is null));
