-- Snapshots file by file: what is known of the files until the snapshot is completed. Their content is in packs of the vault.

alter table emanet.snapshots drop constraint snapshots_upload_kind_check;
alter table emanet.snapshots
  -- `upload` is undecided until its first call: a file makes it `files`, an agent begins it and it stays `upload`.
  add constraint snapshots_upload_kind_check check (upload_kind in ('one_call', 'upload', 'files')),
  -- When it was asked to be completed. No file is taken any more.
  add column closed_at timestamptz,
  -- The manifest that the snapshot is completed with, and the upload of the catalog that it belongs to.
  add column draft bytea,
  add column draft_upload text,
  add check ((draft is null) = (draft_upload is null)),
  -- Whether rows below, or uploads of the catalog, are left of it.
  add column has_files boolean not null default false;

create index snapshots_with_files on emanet.snapshots (id) where has_files;

-- Uploads of the catalog by which processes store files of a snapshot, and the one that makes its tree.
create table emanet.file_sessions (
  snapshot_id uuid not null references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  -- The name of the upload in the catalog.
  upload text collate "C" not null,
  primary key (snapshot_id, upload)
);

create table emanet.snapshot_files (
  snapshot_id uuid not null references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  -- SHA-256 of the key: a path has up to 4096 bytes, more than an index takes.
  path_hash bytea not null check (length(path_hash) = 32),
  -- The path with NUL in place of `/`: the order of keys is the order in which a backup walks.
  path_key bytea not null check (length(path_key) between 1 and 4096),
  -- Directories are those that paths of files imply.
  kind text not null check (kind in ('file', 'directory')),
  -- The next are null for directories.
  content_id uuid,
  size_bytes bigint check (size_bytes >= 0),
  hash bytea check (length(hash) = 32),
  sha256 bytea check (length(sha256) = 32),
  mode integer check (mode between 0 and 4095),
  -- As the client gave it; null: that of the parent snapshot if the content is equal, else the time of receipt.
  mtime_seconds bigint,
  mtime_nanos integer,
  received_at timestamptz,
  primary key (snapshot_id, path_hash),
  check ((kind = 'file') = (content_id is not null)),
  check ((kind = 'file') = (size_bytes is not null and hash is not null and mode is not null and received_at is not null))
);

-- Read in the order of the walk. Keys that are equal so far are sorted.
create index snapshot_files_order on emanet.snapshot_files (snapshot_id, substring(path_key from 1 for 1024))
  where kind = 'file';

-- What is stored of a file: a row per stripe of 64 MiB.
create table emanet.snapshot_file_parts (
  snapshot_id uuid not null references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  content_id uuid not null,
  part integer not null check (part >= 0),
  -- Encoded by the engine (source/stored-file.ts).
  content bytea not null,
  primary key (snapshot_id, content_id, part)
);

do $$
declare
  name text;
begin
  foreach name in array array['file_sessions', 'snapshot_files', 'snapshot_file_parts']
  loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
end
$$;
