-- The catalog of each vault: the database of what is stored where (packages/engine/src/catalog). A vault has one row in
-- catalogs, whose small number is the first column of every other table.
--
-- Row-level security. A transaction chooses its vault with emanet.use_vault, which finds it under the row access of the
-- account. A transaction that has chosen no vault, or works for another account by now, sees no row of these tables.
--
-- There are no foreign keys between these tables: a check per row would double the time of a unit, and every change of two
-- tables is one step under the lock of the vault (packages/server/src/catalog/vault-store.ts).

create table emanet.catalogs (
  vault integer generated always as identity primary key,
  vault_id uuid not null unique,
  account_id uuid not null,
  -- Drawn when the catalog is made or cleared.
  catalog_id bigint not null,
  revision bigint not null default 1,
  next_ordinal bigint not null default 1,
  next_session bigint not null default 1,
  -- Another catalog has used a number of this one.
  stale boolean not null default false,
  -- The newest record of the vault's chain that was applied, and the newest epoch.
  chain_sequence bigint not null default 0,
  chain_hash bytea not null default '',
  epoch bigint not null default 1,
  -- The items up to this ordinal were searched for damaged frames; null: all of them.
  damage_searched bigint
);

-- Whose items these are. An item has the number of its owner.
create table emanet.catalog_owners (
  owner integer generated always as identity,
  vault integer not null,
  name text not null,
  primary key (vault, name)
);

create table emanet.catalog_sessions (
  session bigint not null,
  vault integer not null,
  -- The signed header.
  header bytea not null,
  primary key (vault, session)
);

create table emanet.catalog_claims (
  session bigint not null,
  nonce bigint not null,
  vault integer not null,
  open boolean not null,
  primary key (vault, session)
);
create index catalog_claims_open on emanet.catalog_claims (vault, session) where open;

create table emanet.catalog_uploads (
  session bigint not null,
  lease bigint not null,
  vault integer not null,
  owner integer not null,
  upload text collate "C" not null,
  scope text not null check (scope in ('vault', 'lineage')),
  -- The bitmap of the base.
  reach bytea not null,
  primary key (vault, upload)
);
create index catalog_uploads_session on emanet.catalog_uploads (vault, session);

create table emanet.catalog_reservations (
  session bigint not null,
  request bigint not null,
  first bigint not null,
  after bigint not null,
  vault integer not null,
  primary key (vault, session, request)
);

-- What an upload holds: one encoded list of ordinals per call that acquired or registered items.
create table emanet.catalog_held (
  session bigint not null,
  vault integer not null,
  ordinals bytea not null
);
create index catalog_held_session on emanet.catalog_held (vault, session);

-- The numbers of the units that an upload has registered.
create table emanet.catalog_units (
  session bigint not null,
  number bigint not null,
  vault integer not null,
  primary key (vault, session, number)
);

create table emanet.catalog_packs (
  session bigint not null,
  size bigint not null,
  -- The marking that condemned it last.
  marking bigint not null,
  vault integer not null,
  state text not null check (state in ('live', 'condemned', 'deleting')),
  pack text collate "C" not null,
  primary key (vault, pack)
);

create table emanet.catalog_pins (
  session bigint not null,
  vault integer not null,
  pack text collate "C" not null,
  primary key (vault, session, pack)
);
create index catalog_pins_pack on emanet.catalog_pins (vault, pack);

-- Block lists are kept out of line, so that pinning and scans read short rows. They are hashes: not compressible.
create table emanet.catalog_frames (
  frame bigint not null,
  session bigint not null,
  record bigint not null,
  place bigint not null,
  length bigint not null,
  vault integer not null,
  generation integer not null,
  slots integer not null,
  is_meta boolean not null,
  damaged boolean not null,
  pack text collate "C" not null,
  frame_id bytea not null,
  block_list bytea not null,
  primary key (vault, frame)
) with (toast_tuple_target = 256);
alter table emanet.catalog_frames alter block_list set storage external;
create index catalog_frames_pack on emanet.catalog_frames (vault, pack);
create index catalog_frames_damaged on emanet.catalog_frames (vault, frame) where damaged;

-- The items with bytes in damaged frames.
create table emanet.catalog_damaged_items (
  frame bigint not null,
  vault integer not null,
  ordinal integer not null,
  primary key (vault, frame, ordinal)
);
create index catalog_damaged_items_ordinal on emanet.catalog_damaged_items (vault, ordinal);

-- The order of the columns saves padding. A hash index on the ids is smaller than a btree on (vault, id).
create table emanet.catalog_items (
  record bigint not null,
  ordinal integer not null,
  next integer not null,
  vault integer not null,
  owner integer not null,
  is_node boolean not null,
  verified boolean not null,
  id bytea not null,
  recipe bytea not null,
  primary key (vault, ordinal)
) with (fillfactor = 95);
create index catalog_items_id on emanet.catalog_items using hash (id);

create table emanet.catalog_hooks (
  hook bigint not null,
  vault integer not null,
  owner integer not null,
  ordinal integer not null,
  primary key (vault, hook, owner)
);

create table emanet.catalog_snapshots (
  session bigint not null,
  started bigint not null,
  completed bigint not null,
  size bigint not null,
  files bigint not null,
  warnings bigint not null,
  stored bigint not null,
  changes bigint not null,
  expires bigint,
  locked bigint,
  root_ordinal bigint not null,
  vault integer not null,
  hold boolean not null,
  id text collate "C" not null,
  source text collate "C" not null,
  status text not null check (status in ('completed', 'recovered', 'deleting')),
  root_id bytea not null,
  -- The bitmap of the items, compressed already.
  reach bytea not null,
  primary key (vault, id)
) with (toast_tuple_target = 512);
alter table emanet.catalog_snapshots alter reach set storage external;
create index catalog_snapshots_completed on emanet.catalog_snapshots (vault, completed, id);
create index catalog_snapshots_source on emanet.catalog_snapshots (vault, source, completed, id);

create table emanet.catalog_revoked_writers (
  from_session bigint not null,
  vault integer not null,
  writer text not null,
  primary key (vault, writer)
);

-- The vault that the transaction has chosen, if it still works for the account that it chose it for.
create function emanet.current_vault() returns integer
  language sql stable parallel safe
  as $$
    select case
      when current_setting('emanet.scope', true) = 'account'
        and split_part(chosen, ' ', 2) = current_setting('emanet.account_id', true)
      then nullif(split_part(chosen, ' ', 1), '')::integer
    end
    from (select current_setting('emanet.vault', true)) as setting (chosen)
  $$;

-- Chooses the vault of the transaction and returns its number. Fails if the account has no such vault.
--
-- Also fixes the plans of what follows: all of it are lookups by keys. A plan that was made while the tables were small
-- would read whole tables when they have grown, until they are analyzed.
create function emanet.use_vault(wanted uuid) returns integer
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      chosen integer := (
        select vault from emanet.catalogs
        where vault_id = wanted and account_id = nullif(current_setting('emanet.account_id', true), '')::uuid
      );
    begin
      if chosen is null then
        raise no_data_found using message = 'the account has no catalog of this vault';
      end if;
      perform set_config('emanet.vault', chosen || ' ' || current_setting('emanet.account_id'), true),
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true);
      return chosen;
    end
  $$;

alter table emanet.catalogs enable row level security;
alter table emanet.catalogs force row level security;
create policy tenancy on emanet.catalogs using (emanet.in_scope(account_id));
grant select, insert, update on emanet.catalogs to emanet_app;

do $$
declare
  name text;
begin
  foreach name in array array['catalog_owners', 'catalog_sessions', 'catalog_claims', 'catalog_uploads', 'catalog_reservations',
    'catalog_held', 'catalog_units', 'catalog_packs', 'catalog_pins', 'catalog_frames', 'catalog_damaged_items',
    'catalog_items', 'catalog_hooks', 'catalog_snapshots', 'catalog_revoked_writers']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    -- The subquery is evaluated once per statement, so the policy costs nothing per row.
    execute format('create policy vault on emanet.%I using (vault = (select emanet.current_vault()))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
end
$$;

revoke all on function emanet.use_vault(uuid), emanet.current_vault() from public;
grant execute on function emanet.use_vault(uuid), emanet.current_vault() to emanet_app;
