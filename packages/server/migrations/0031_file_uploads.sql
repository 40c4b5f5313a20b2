-- Files of a snapshot that come in several requests (tus 1.0). Full stripes are rows of snapshot_file_parts; what came after the last
-- of them is the tail, which is stored too and cut again with what follows.

create table emanet.file_uploads (
  snapshot_id uuid not null references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  path_hash bytea not null check (length(path_hash) = 32),
  path_key bytea not null check (length(path_key) between 1 and 4096),
  -- Of its parts. A new one for each beginning, so that an old request cannot go on.
  content_id uuid not null,
  length_bytes bigint not null check (length_bytes > 0),
  -- Durable bytes.
  offset_bytes bigint not null default 0,
  stripe_count integer not null default 0,
  -- Encoded by the engine (source/stored-file.ts); null if the offset is at the end of a stripe.
  tail bytea,
  -- How the first stripe was cut, if it is a page file.
  page_bytes integer,
  page_phase integer,
  mode integer not null check (mode between 0 and 4095),
  mtime_seconds bigint,
  mtime_nanos integer,
  primary key (snapshot_id, path_hash),
  check (offset_bytes between 0 and length_bytes),
  check ((page_bytes is null) = (page_phase is null))
);

alter table emanet.file_uploads enable row level security;
alter table emanet.file_uploads force row level security;
create policy tenancy on emanet.file_uploads using (emanet.in_scope(account_id));

grant select, insert, update, delete on emanet.file_uploads to emanet_app;
