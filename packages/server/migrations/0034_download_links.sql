-- Links that download without a token, for browsers. Only hashes of their secrets are stored.
create table emanet.download_links (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  token_hash bytea not null unique check (length(token_hash) = 32),
  -- Whose right it has, looked up at each request. Ended sessions are deleted after a while; the link is then over.
  session_id uuid not null,
  scopes text[] not null,
  snapshot_id uuid not null references emanet.snapshots (id),
  -- A file or directory of the snapshot; null: all of it.
  path bytea check (length(path) between 1 and 4096),
  -- Null: the file itself.
  format text check (format in ('tar', 'zip')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Set by the first download, together with the cookie that continues it.
  used_at timestamptz,
  cookie_hash bytea check (length(cookie_hash) = 32),
  check ((used_at is null) = (cookie_hash is null))
);

create index download_links_expiry on emanet.download_links (expires_at);

alter table emanet.download_links enable row level security;
alter table emanet.download_links force row level security;
create policy tenancy on emanet.download_links using (emanet.in_scope(account_id));
grant select, insert, delete on emanet.download_links to emanet_app;
grant update (used_at, cookie_hash) on emanet.download_links to emanet_app;
