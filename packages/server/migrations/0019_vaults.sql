-- Vaults, the sources that are backed up into them, and who may write to a source.
--
-- Every account has one default vault. A trigger makes it with the account, so that no account is ever without one.

-- A UUIDv7 of that moment. PostgreSQL has such a function only from version 18 on.
create function emanet.uuid_at(at timestamptz) returns uuid
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select (
      lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(drawn, 14)
    )::uuid
    from (select replace(gen_random_uuid()::text, '-', '') as drawn) as random
  $$;

create table emanet.vaults (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  name text not null check (length(name) between 1 and 200),
  -- The name in the order of the Turkish alphabet (vaults/name-order.ts).
  name_order text collate "C" not null,
  kind text not null check (kind in ('default', 'taxpayer', 'other')),
  -- Whose vault it is, where it is a taxpayer's.
  taxpayer_id uuid unique,
  -- At this many bytes nothing more is stored; null: no limit.
  quota_bytes bigint check (quota_bytes >= 0),
  -- At this many bytes the event vault.quota_warning is due; null: never.
  quota_warning_bytes bigint check (quota_warning_bytes >= 0),
  -- What is stored or reserved by unfinished uploads.
  stored_bytes bigint not null default 0 check (stored_bytes >= 0),
  -- The event was emitted, and the vault has not been below since.
  quota_warned boolean not null default false,
  -- Whether it has a row in catalogs. The first use makes it.
  has_catalog boolean not null default false,
  -- When its key object was written to the object store. From then on no other keys are ever made for it.
  keys_made_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  check ((kind = 'taxpayer') = (taxpayer_id is not null))
);

create unique index vaults_default on emanet.vaults (account_id) where kind = 'default';
create index vaults_account on emanet.vaults (account_id, created_at, id);
create index vaults_name on emanet.vaults (account_id, name_order, id);

create table emanet.sources (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  name text collate "C" not null check (length(name) between 1 and 200),
  name_order text collate "C" not null,
  kind text not null check (kind in ('files', 'database', 'e_archive', 'other')),
  -- A completed snapshot is expected at least once in this time; null: no expectation.
  expected_every_s integer check (expected_every_s > 0),
  -- The newest snapshot, whatever became of it.
  last_snapshot_id uuid,
  last_snapshot_status text,
  last_snapshot_completed_at timestamptz,
  -- The newest completed one, and the bytes of its files.
  last_good_at timestamptz,
  size_bytes bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  unique (vault_id, name)
);

create index sources_account on emanet.sources (account_id, created_at, id);
create index sources_name on emanet.sources (account_id, name_order, id);
create index sources_vault on emanet.sources (vault_id);

-- Names that a source had before. Uploads that still use one find the source.
create table emanet.source_aliases (
  vault_id uuid not null references emanet.vaults (id),
  name text collate "C" not null,
  account_id uuid not null,
  source_id uuid not null references emanet.sources (id),
  created_at timestamptz not null,
  primary key (vault_id, name)
);

create index source_aliases_source on emanet.source_aliases (source_id);

-- Who may write to a source: its first writer, and those that a person bound. bound_by is null for the first.
create table emanet.source_writers (
  source_id uuid not null references emanet.sources (id),
  kind text not null check (kind in ('client', 'agent', 'member')),
  writer_id uuid not null,
  account_id uuid not null,
  bound_by uuid,
  bound_at timestamptz not null,
  primary key (source_id, kind, writer_id)
);

alter table emanet.vaults enable row level security;
alter table emanet.vaults force row level security;
create policy tenancy on emanet.vaults using (emanet.in_scope(account_id));

alter table emanet.sources enable row level security;
alter table emanet.sources force row level security;
create policy tenancy on emanet.sources using (emanet.in_scope(account_id));

alter table emanet.source_aliases enable row level security;
alter table emanet.source_aliases force row level security;
create policy tenancy on emanet.source_aliases using (emanet.in_scope(account_id));

alter table emanet.source_writers enable row level security;
alter table emanet.source_writers force row level security;
create policy tenancy on emanet.source_writers using (emanet.in_scope(account_id));

grant select, insert, update on emanet.vaults, emanet.sources to emanet_app;
grant select, insert, delete on emanet.source_aliases, emanet.source_writers to emanet_app;

-- name_order is what vaults/name-order.ts makes of these two names; a test compares them.
create function emanet.make_default_vault(account emanet.accounts) returns void
  language sql
  set search_path = pg_catalog, pg_temp
  as $$
    insert into emanet.vaults (id, account_id, name, name_order, kind, created_at, updated_at)
    values (
      emanet.uuid_at(account.created_at), account.id,
      case account.language when 'tr' then 'Varsayılan' else 'Default' end,
      case account.language when 'tr' then E'\\AVWA_KOAQ' else 'EFGAZOY' end,
      'default', account.created_at, account.created_at)
  $$;

create function emanet.on_account_insert() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      perform emanet.make_default_vault(new);
      return null;
    end
  $$;

create trigger make_default_vault after insert on emanet.accounts
  for each row execute function emanet.on_account_insert();

-- The accounts that exist already. Row-level security applies to the owner of the tables too.
select set_config('emanet.scope', 'system', true);
select emanet.make_default_vault(a) from emanet.accounts a;
select set_config('emanet.scope', '', true);
