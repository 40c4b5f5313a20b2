-- Accounts (customers), the people who sign in, and the machine clients of an account.
--
-- A row of people is a member of one account, or staff of the platform (account_id null, role 'staff'). An e-mail
-- address belongs to one person: it is what people sign in with.
-- States of an account: active <-> suspended; active | suspended -> closed.
-- States of a person: invited (has an enrolment link) -> active -> removed; invited -> removed. A removed person's
-- e-mail may be used again, so the uniqueness ends there.

-- A new scope: staff read across accounts. kernel/tx.ts makes every transaction of that scope read-only.
create or replace function emanet.in_scope(row_account uuid) returns boolean
  language sql stable parallel safe
  as $$
    select case current_setting('emanet.scope', true)
      when 'account' then row_account = nullif(current_setting('emanet.account_id', true), '')::uuid
      when 'platform' then row_account is null
      when 'staff' then true
      when 'system' then true
      else false
    end
  $$;

-- What a package includes. Data, so that an offer can change without a release; rank is the order of the price list.
create table emanet.packages (
  name text primary key check (name ~ '^[a-z_]{1,32}$'),
  rank integer not null unique,
  entitlements text[] not null
);

insert into emanet.packages (name, rank, entitlements) values
  ('starter', 1, '{}'),
  ('professional', 2, '{}'),
  ('accountant', 3, '{api}'),
  ('corporate', 4, '{api}');

create table emanet.accounts (
  id uuid primary key,
  kind text not null check (kind in ('accounting_office', 'company')),
  name text not null check (length(name) between 1 and 200),
  tax_id text not null,
  package text not null references emanet.packages (name),
  state text not null check (state in ('active', 'suspended', 'closed')),
  -- Planned limits are watched but never block, webhooks are off.
  early_access boolean not null default false,
  -- Whether codes by SMS may replace the authenticator at sign-in.
  sms_sign_in boolean not null default true,
  language text not null check (language in ('tr', 'en')),
  application_id uuid unique references emanet.applications (id),
  state_changed_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1
);

-- What staff switched on or off for one account, whatever its package says.
create table emanet.account_entitlements (
  account_id uuid not null references emanet.accounts (id),
  entitlement text not null check (entitlement ~ '^[a-z_]{1,32}$'),
  enabled boolean not null,
  primary key (account_id, entitlement)
);

create table emanet.people (
  id uuid primary key,
  account_id uuid references emanet.accounts (id),
  role text not null check (role in ('owner', 'manager', 'operator', 'viewer', 'auditor', 'staff')),
  state text not null check (state in ('invited', 'active', 'removed')),
  email text not null,
  -- The e-mail folded for comparison.
  email_key text not null,
  full_name text not null,
  phone text,
  phone_verified_at timestamptz,
  language text not null check (language in ('tr', 'en')),
  invited_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  check ((account_id is null) = (role = 'staff')),
  check (phone_verified_at is null or phone is not null)
);

create unique index people_email_key on emanet.people (email_key) where state <> 'removed';
create index people_account on emanet.people (account_id, created_at, id);

-- Machine clients. account_id null: the service's own (the agent's device client). kind is what the tokens count as:
-- 'api' is gated by the package, 'agent' is not and only the service's own clients have it.
create table emanet.oauth_clients (
  id uuid primary key,
  account_id uuid references emanet.accounts (id),
  kind text not null check (kind in ('api', 'agent')),
  name text not null check (length(name) between 1 and 200),
  auth_method text not null check (auth_method in ('client_secret', 'private_key_jwt', 'none')),
  grant_types text[] not null,
  redirect_uris text[] not null default '{}',
  scopes text[] not null,
  -- The vaults it may touch; null: all.
  vault_ids uuid[],
  jwks jsonb,
  created_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  version integer not null default 1,
  check (account_id is not null or kind = 'agent'),
  check ((auth_method = 'private_key_jwt') = (jwks is not null))
);

create index oauth_clients_account on emanet.oauth_clients (account_id, created_at, id);

-- Several live at once while one is being replaced. Only a keyed hash is kept: a secret has 256 bits, so no slow hash.
create table emanet.oauth_client_secrets (
  id uuid primary key,
  client_id uuid not null references emanet.oauth_clients (id),
  account_id uuid,
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  created_at timestamptz not null,
  -- Null: until it is rotated.
  expires_at timestamptz
);

create index oauth_client_secrets_client on emanet.oauth_client_secrets (client_id);

-- The price list is nobody's and everybody reads it; it changes by a migration.
alter table emanet.packages enable row level security;
alter table emanet.packages force row level security;
create policy price_list on emanet.packages for select using (true);

alter table emanet.accounts enable row level security;
alter table emanet.accounts force row level security;
create policy tenancy on emanet.accounts using (emanet.in_scope(id));

alter table emanet.account_entitlements enable row level security;
alter table emanet.account_entitlements force row level security;
create policy tenancy on emanet.account_entitlements using (emanet.in_scope(account_id));

alter table emanet.people enable row level security;
alter table emanet.people force row level security;
create policy tenancy on emanet.people using (emanet.in_scope(account_id));

alter table emanet.oauth_clients enable row level security;
alter table emanet.oauth_clients force row level security;
create policy tenancy on emanet.oauth_clients using (emanet.in_scope(account_id));

alter table emanet.oauth_client_secrets enable row level security;
alter table emanet.oauth_client_secrets force row level security;
create policy tenancy on emanet.oauth_client_secrets using (emanet.in_scope(account_id));

grant select on emanet.packages to emanet_app;
grant select, insert, update on emanet.accounts, emanet.people, emanet.oauth_clients to emanet_app;
grant select, insert, update, delete on emanet.account_entitlements, emanet.oauth_client_secrets to emanet_app;

-- Applications learn who decided and when.
alter table emanet.applications
  add column decided_at timestamptz,
  add column decided_by uuid,
  add column decision_reason text;
