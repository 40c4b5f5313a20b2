-- Restores: files of a snapshot brought back. States are in packages/server/src/restores/rules.ts.
create table emanet.restores (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  snapshot_id uuid not null references emanet.snapshots (id),
  -- What to restore, in the order of the tree, none below another; null: everything.
  paths bytea[] check (cardinality(paths) between 1 and 1000),
  target_kind text not null check (target_kind in ('download')),
  format text not null check (format in ('tar', 'zip')),
  on_damage text not null check (on_damage in ('fail', 'skip')),
  state text not null check (state in ('pending', 'running', 'completed', 'failed', 'canceled')),
  failure_code text check (failure_code in ('content_damaged', 'snapshot_deleted', 'canceled', 'internal')),
  bytes_total bigint not null check (bytes_total >= 0),
  files_total bigint not null check (files_total >= 0),
  bytes_restored bigint not null default 0 check (bytes_restored >= 0),
  files_restored bigint not null default 0 check (files_restored >= 0),
  -- Files and directories that could not be read whole.
  warning_count integer not null default 0 check (warning_count >= 0),
  -- Tree nodes that could not be read: a download passes over them even if they are healed later.
  left_out_nodes bigint[] not null default '{}',
  -- Of the archive, once it is frozen. Members, then the directory (zip), then the end.
  layout smallint,
  member_bytes bigint check (member_bytes >= 0),
  directory_bytes bigint check (directory_bytes >= 0),
  member_count bigint check (member_count >= 0),
  escaped_names integer check (escaped_names >= 0),
  archive_bytes bigint check (archive_bytes > 0),
  -- The job that prepares it.
  job_id text,
  created_by_kind text not null check (created_by_kind in ('client', 'agent', 'member')),
  created_by_id uuid not null,
  created_at timestamptz not null,
  started_at timestamptz,
  -- When it was completed, failed or canceled.
  ended_at timestamptz,
  -- Until when it can be downloaded.
  expires_at timestamptz,
  version integer not null default 1,
  check ((state in ('failed', 'canceled')) = (failure_code is not null)),
  check ((state in ('completed', 'failed', 'canceled')) = (ended_at is not null)),
  check ((state = 'completed') = (archive_bytes is not null)),
  check ((state = 'completed') = (expires_at is not null))
);

create index restores_list on emanet.restores (account_id, created_at desc, id desc);
create index restores_all on emanet.restores (created_at desc, id desc);
create index restores_open on emanet.restores (id) where state in ('pending', 'running');
-- What pins the content of a snapshot.
create index restores_of_snapshot on emanet.restores (snapshot_id) where state in ('pending', 'running', 'completed');

-- Consecutive entries of the walk, so that a range begins near its first byte. Row 0 is the first.
create table emanet.restore_parts (
  restore_id uuid not null references emanet.restores (id),
  account_id uuid not null references emanet.accounts (id),
  part integer not null check (part >= 0),
  -- Where its first member is in the archive, and its first record in the directory.
  member_offset bigint not null check (member_offset >= 0),
  directory_offset bigint not null check (directory_offset >= 0),
  -- The walk goes on in this root, behind this path; null: with the root itself.
  root integer not null check (root >= 0),
  after_path bytea,
  entries integer not null check (entries > 0),
  -- CRC-32 of each entry, four bytes each; null in a tar.
  checksums bytea,
  -- Entries that are not in the archive, by their number in this part.
  left_out integer[] not null,
  -- Entries that are hard links, and what they link to.
  link_places integer[] not null,
  link_targets bytea[] not null,
  primary key (restore_id, part),
  check (cardinality(link_places) = cardinality(link_targets)),
  check (checksums is null or length(checksums) = 4 * entries)
);

create index restore_parts_members on emanet.restore_parts (restore_id, member_offset);
create index restore_parts_directory on emanet.restore_parts (restore_id, directory_offset);

create table emanet.restore_warnings (
  restore_id uuid not null references emanet.restores (id),
  account_id uuid not null references emanet.accounts (id),
  number integer not null check (number >= 0),
  path bytea not null,
  code text not null check (code in ('content_damaged', 'entries_unreadable')),
  primary key (restore_id, number)
);

do $$
declare
  name text;
begin
  foreach name in array array['restores', 'restore_parts', 'restore_warnings']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
end
$$;

-- A link leads to a snapshot or to a restore.
alter table emanet.download_links
  alter column snapshot_id drop not null,
  add column restore_id uuid references emanet.restores (id),
  add check (num_nonnulls(snapshot_id, restore_id) = 1),
  add check (restore_id is null or (path is null and format is null));
