-- The projection: rows by which search and history find files over all snapshots of a vault. A job makes it from the differences
-- of consecutive snapshots; it can be made again at any time (packages/server/src/paths).
--
-- Names of files are personal data. They are sealed with a key of the projection, which is sealed with the root key. Search finds
-- them by keyed hashes of three letters each, history by a keyed hash of the path.
--
-- Row-level security: the large tables have the small number of the projection instead of an account. The policy compares it with
-- the numbers of the account, which are read once per statement. There are no foreign keys between these tables: every change is
-- one transaction under the lock of the row in projections.

create table emanet.projections (
  vault integer generated always as identity primary key,
  vault_id uuid not null unique references emanet.vaults (id),
  account_id uuid not null references emanet.accounts (id),
  -- Sealed with the root key, for this vault.
  sealed_key bytea not null,
  -- The number of the next path.
  next_path integer not null default 0,
  -- Its rows are being deleted, to be made again.
  is_clearing boolean not null default false
);
create index projections_account on emanet.projections (account_id);

-- Which snapshots the projection has, and which it is to have. `wanted` changes with the snapshot, in one commit; `state` is the job's:
-- waiting: not in it; applying: the first `done` differences are in it; contained; removing: some rows still name it;
-- skipped: its tree could not be read.
create table emanet.projected_snapshots (
  snapshot_id uuid primary key references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  source_id uuid not null references emanet.sources (id),
  created_at timestamptz not null,
  wanted boolean not null,
  state text not null check (state in ('waiting', 'applying', 'contained', 'removing', 'skipped')),
  done bigint not null default 0 check (done >= 0),
  -- When its tree could not be read.
  failed_at timestamptz
);
-- The snapshots of a source in their order. Ids sort by time.
create index projected_snapshots_contained on emanet.projected_snapshots (source_id, snapshot_id) include (created_at, wanted)
  where state = 'contained';
create index projected_snapshots_vault on emanet.projected_snapshots (vault_id, snapshot_id) where state = 'contained' and wanted;
-- What is left to do.
create index projected_snapshots_open on emanet.projected_snapshots (vault_id, snapshot_id)
  where state <> 'contained' or not wanted;
-- One change of a projection at a time.
create unique index projected_snapshots_changing on emanet.projected_snapshots (vault_id)
  where state in ('applying', 'removing');

-- The paths of each source.
create table emanet.projected_paths (
  source_id uuid not null,
  vault integer not null,
  path integer not null,
  -- Keyed hash of source and path.
  key bytea not null check (length(key) = 16),
  -- The bytes of the path; the nonce is made from the key.
  sealed bytea not null,
  primary key (vault, path)
);
create unique index projected_paths_key on emanet.projected_paths (vault, key);

-- What was at a path, from the snapshot `since` on and before the snapshot `until`. Neighbours in time differ.
create table emanet.projected_versions (
  since uuid not null,
  until uuid,
  size_bytes bigint,
  mtime_seconds bigint not null,
  mtime_nanos integer not null,
  vault integer not null,
  path integer not null,
  mode integer not null,
  type text not null check (type in ('f', 'd', 'l')),
  -- Of a link: a keyed hash of its target. Null for directories.
  hash bytea,
  primary key (vault, path, since)
);
create index projected_versions_since on emanet.projected_versions (vault, since);
create index projected_versions_until on emanet.projected_versions (vault, until) where until is not null;

-- In which names three letters are (keyed hash). A row has those of up to 2048 consecutive paths, two bytes for each.
create table emanet.projected_grams (
  vault integer not null,
  block integer not null,
  gram integer not null,
  offsets bytea not null,
  primary key (vault, block, gram)
) with (toast_tuple_target = 8160);
alter table emanet.projected_grams alter offsets set storage main;

-- The numbers of the projections of the account that the transaction works for.
create function emanet.account_projections() returns integer[]
  language sql stable parallel safe
  set search_path = pg_catalog, pg_temp
  as $$
    select coalesce(array_agg(vault), '{}') from emanet.projections
    where current_setting('emanet.scope', true) = 'account'
      and account_id = nullif(current_setting('emanet.account_id', true), '')::uuid
  $$;

-- Fixes the plans of what follows in the transaction: all of it are lookups by keys. A plan that was made while the tables were
-- small would read rows of other vaults.
create function emanet.plan_by_keys() returns void
  language sql
  set search_path = pg_catalog, pg_temp
  as $$
    select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
      set_config('enable_mergejoin', 'off', true)
  $$;

revoke all on function emanet.account_projections(), emanet.plan_by_keys() from public;
grant execute on function emanet.account_projections(), emanet.plan_by_keys() to emanet_app;

do $$
declare
  name text;
begin
  foreach name in array array['projections', 'projected_snapshots']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
  foreach name in array array['projected_paths', 'projected_versions', 'projected_grams']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (vault = any ((select emanet.account_projections())::integer[]))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
end
$$;

-- The snapshots that exist already. A recurring task finds them.
select set_config('emanet.scope', 'system', true);
insert into emanet.projected_snapshots (snapshot_id, account_id, vault_id, source_id, created_at, wanted, state)
  select id, account_id, vault_id, source_id, created_at, true, 'waiting' from emanet.snapshots where state = 'completed';
select set_config('emanet.scope', '', true);
