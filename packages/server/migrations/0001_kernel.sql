-- What every domain stands on: the tenancy wall, the audit chains, the event streams, the idempotency keys.
--
-- Tenancy. Each transaction says on whose behalf it runs (emanet.scope, emanet.account_id; see kernel/tx.ts) and
-- runs as emanet_app, a role that row-level security binds. The scopes:
--   account   sees the rows of one account
--   platform  sees rows that belong to no account (applications, staff)
--   system    upkeep of the service itself, sees all
-- A transaction that says nothing sees nothing.

create schema if not exists emanet;

do $$
begin
  -- Roles belong to the whole cluster: another database of it may have made this one, even at this moment.
  if not exists (select from pg_roles where rolname = 'emanet_app') then
    create role emanet_app nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception
  when duplicate_object or unique_violation then null;
end
$$;

do $$
begin
  -- A superuser may become any role; anybody else must be a member.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant emanet_app to %I', current_user);
  end if;
end
$$;

grant usage on schema emanet to emanet_app;

create function emanet.in_scope(row_account uuid) returns boolean
  language sql stable parallel safe
  as $$
    select case current_setting('emanet.scope', true)
      when 'account' then row_account = nullif(current_setting('emanet.account_id', true), '')::uuid
      when 'platform' then row_account is null
      when 'system' then true
      else false
    end
  $$;

-- Audit: one chain per account, one for the platform. The head row is the lock that puts a chain's records in order.
create table emanet.audit_heads (
  chain text primary key,
  account_id uuid,
  seq bigint not null,
  hash bytea not null check (octet_length(hash) = 32),
  check (chain = coalesce(account_id::text, 'platform'))
);

create table emanet.audit_records (
  chain text not null,
  account_id uuid,
  seq bigint not null check (seq > 0),
  id uuid not null unique,
  occurred_at timestamptz not null,
  action text not null,
  actor jsonb not null,
  targets jsonb not null,
  context jsonb not null,
  outcome text not null check (outcome in ('success', 'failure')),
  metadata jsonb not null,
  prev_hash bytea not null check (octet_length(prev_hash) = 32),
  hash bytea not null check (octet_length(hash) = 32),
  primary key (chain, seq),
  check (chain = coalesce(account_id::text, 'platform'))
);

create function emanet.refuse_change() returns trigger
  language plpgsql
  as $$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
    end
  $$;

create trigger audit_records_append_only
  before update or delete or truncate on emanet.audit_records
  for each statement execute function emanet.refuse_change();

-- Events: what happened to an account, in the order of its commits. The payload is kept as the bytes that are sent.
create table emanet.event_heads (
  account_id uuid primary key,
  sequence bigint not null
);

create table emanet.events (
  account_id uuid not null,
  sequence bigint not null check (sequence > 0),
  id uuid not null unique,
  type text not null,
  payload text not null,
  created_at timestamptz not null,
  primary key (account_id, sequence)
);

-- Idempotency: the answer that was given to a key, sealed. The id is a hash over (account, client, operation, key).
create table emanet.idempotency_keys (
  id bytea primary key check (octet_length(id) = 32),
  account_id uuid,
  operation text not null,
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  sealed_reply bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index idempotency_keys_expires_at on emanet.idempotency_keys (expires_at);

alter table emanet.audit_heads enable row level security;
alter table emanet.audit_heads force row level security;
create policy tenancy on emanet.audit_heads using (emanet.in_scope(account_id));

alter table emanet.audit_records enable row level security;
alter table emanet.audit_records force row level security;
create policy tenancy on emanet.audit_records using (emanet.in_scope(account_id));

alter table emanet.event_heads enable row level security;
alter table emanet.event_heads force row level security;
create policy tenancy on emanet.event_heads using (emanet.in_scope(account_id));

alter table emanet.events enable row level security;
alter table emanet.events force row level security;
create policy tenancy on emanet.events using (emanet.in_scope(account_id));

alter table emanet.idempotency_keys enable row level security;
alter table emanet.idempotency_keys force row level security;
create policy tenancy on emanet.idempotency_keys using (emanet.in_scope(account_id));

grant select, insert, update on emanet.audit_heads, emanet.event_heads to emanet_app;
grant select, insert on emanet.audit_records to emanet_app;
grant select, insert, delete on emanet.events to emanet_app;
grant select, insert, update, delete on emanet.idempotency_keys to emanet_app;
