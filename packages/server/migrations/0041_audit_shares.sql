-- Shares: an outside auditor reads a selection of an account's audit records with a secret of their own. The secret is kept as a keyed
-- hash. A share that was revoked or has expired stays, so that the records of its reads can be understood.
create table emanet.audit_shares (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  label text not null check (length(label) between 1 and 200),
  -- The parameters of GET /v1/audit/events that were given.
  filter jsonb not null,
  shows_persons boolean not null,
  shows_paths boolean not null,
  created_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '90 days'),
  revoked_at timestamptz,
  revoked_by uuid,
  check ((revoked_at is null) = (revoked_by is null))
);

create index audit_shares_account on emanet.audit_shares (account_id, created_at, id);

alter table emanet.audit_shares enable row level security;
alter table emanet.audit_shares force row level security;
create policy tenancy on emanet.audit_shares using (emanet.in_scope(account_id));

grant select, insert on emanet.audit_shares to emanet_app;
grant update (revoked_at, revoked_by) on emanet.audit_shares to emanet_app;
