-- What customers read of the audit trail: records by time, act and actor; signed checkpoints; exports that can be resumed; the last
-- check of every chain; and the identities of people, which are no part of a chain.

alter table emanet.audit_records add column actor_id text generated always as (actor ->> 'id') stored;

-- seq is read from the index alone: an export finds the first and the last number of a time.
create index audit_records_time on emanet.audit_records (chain, occurred_at, id) include (seq);
create index audit_records_action on emanet.audit_records (chain, action, occurred_at, id);
create index audit_records_actor on emanet.audit_records (chain, actor_id, occurred_at, id) where actor_id is not null;

-- A checkpoint says which hash a chain had at a number, signed. stored_at: when it was put into the object store. time_stamp: the
-- answer of a time-stamp authority (RFC 3161); null without one.
create table emanet.audit_checkpoints (
  chain text not null,
  account_id uuid,
  seq bigint not null check (seq >= 0),
  hash bytea not null check (octet_length(hash) = 32),
  reason text not null check (reason in ('hourly', 'export', 'act')),
  jws text not null check (length(jws) between 1 and 2000),
  made_at timestamptz not null,
  stored_at timestamptz,
  time_stamp bytea,
  primary key (chain, seq),
  check (chain = coalesce(account_id::text, 'platform'))
);

create index audit_checkpoints_unstored on emanet.audit_checkpoints (chain, seq) where stored_at is null;

-- An export, for 24 hours. The content is not kept: it is made again from the records. statement, digest and sizes are known when it
-- was made once; identities is a hash of the names in it.
create table emanet.audit_exports (
  id uuid primary key,
  -- Whose it is: the account's, or the platform's for staff.
  account_id uuid,
  chain text not null,
  format text not null check (format in ('ndjson', 'csv', 'cef', 'json')),
  from_time timestamptz,
  to_time timestamptz,
  first_seq bigint not null check (first_seq > 0),
  last_seq bigint not null check (last_seq >= first_seq - 1),
  opening text not null,
  closing text not null,
  identities bytea,
  statement text,
  size_bytes bigint,
  gzip_bytes bigint,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index audit_exports_expires_at on emanet.audit_exports (expires_at);

-- The last self-check of a chain. bad_seq: the first bad record; finding: what is wrong with it.
create table emanet.audit_checks (
  chain text primary key,
  account_id uuid,
  records bigint not null,
  checked_at timestamptz not null,
  bad_seq bigint,
  finding text,
  check (chain = coalesce(account_id::text, 'platform')),
  check ((bad_seq is null) = (finding is null))
);

-- Who a person in a chain is. The chain has the id alone. sealed_identity is encrypted with a key of the person's own, which is in
-- sealed_key; erasing a person deletes both.
create table emanet.audit_identities (
  person_id uuid primary key,
  account_id uuid not null,
  sealed_key bytea,
  sealed_identity bytea,
  changed_at timestamptz not null,
  erased_at timestamptz,
  check ((sealed_key is null) = (erased_at is not null)),
  check ((sealed_identity is null) = (erased_at is not null))
);

create index audit_identities_account on emanet.audit_identities (account_id);

do $$
declare
  name text;
begin
  foreach name in array array['audit_checkpoints', 'audit_exports', 'audit_checks', 'audit_identities'] loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
  end loop;
end
$$;

create trigger audit_checkpoints_append_only
  before delete or truncate on emanet.audit_checkpoints
  for each statement execute function emanet.refuse_change();

grant select, insert on emanet.audit_checkpoints to emanet_app;
grant update (stored_at, time_stamp) on emanet.audit_checkpoints to emanet_app;
grant select, insert, delete on emanet.audit_exports to emanet_app;
grant update (identities, statement, size_bytes, gzip_bytes) on emanet.audit_exports to emanet_app;
grant select, insert, update on emanet.audit_checks to emanet_app;
grant select, insert, update on emanet.audit_identities to emanet_app;
