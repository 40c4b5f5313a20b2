-- Taxpayers: the clients of an accounting office. Each has a vault of its own.

create table emanet.taxpayers (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  -- VKN (10 digits) or TCKN (11); the API shows its last digits only.
  tax_id text not null check (tax_id ~ '^[0-9]{10,11}$'),
  name text not null check (length(name) between 1 and 200),
  name_order text collate "C" not null,
  state text not null check (state in ('active', 'archived')),
  vault_id uuid not null unique references emanet.vaults (id),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  unique (account_id, tax_id)
);

create index taxpayers_account on emanet.taxpayers (account_id, created_at, id);
create index taxpayers_name on emanet.taxpayers (account_id, name_order, id);

alter table emanet.taxpayers enable row level security;
alter table emanet.taxpayers force row level security;
create policy tenancy on emanet.taxpayers using (emanet.in_scope(account_id));

grant select, insert, update on emanet.taxpayers to emanet_app;
