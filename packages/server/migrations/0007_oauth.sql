-- What the OAuth library keeps from one request to the next: codes, refresh tokens, grants, device codes, the state of
-- its pages, assertions already used. It belongs to no account; whose it is stands in the sealed payload.
--
-- Secrets (codes, tokens, cookies) are the ids here, so only a keyed hash of an id is kept. consumed_at is set once, by
-- the statement that redeems a code or refresh token: of parallel ones exactly one finds it empty. grant_id is the
-- session of the grant, so that everything that came of it can be found.

create table emanet.oauth_artifacts (
  kind text not null check (kind ~ '^[A-Za-z]{1,40}$'),
  id_hash bytea not null check (octet_length(id_hash) = 32),
  grant_id uuid,
  user_code_hash bytea check (octet_length(user_code_hash) = 32),
  uid_hash bytea check (octet_length(uid_hash) = 32),
  sealed_payload bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  primary key (kind, id_hash)
);

create index oauth_artifacts_grant_id on emanet.oauth_artifacts (grant_id) where grant_id is not null;
create unique index oauth_artifacts_user_code on emanet.oauth_artifacts (user_code_hash)
  where user_code_hash is not null;
create index oauth_artifacts_uid on emanet.oauth_artifacts (uid_hash) where uid_hash is not null;
create index oauth_artifacts_expires_at on emanet.oauth_artifacts (expires_at);

-- Wrong user codes typed from an address, so that they cannot be guessed. The id is a keyed hash of the address.
create table emanet.oauth_user_code_tries (
  id bytea primary key check (octet_length(id) = 32),
  failures integer not null check (failures > 0),
  started_at timestamptz not null
);

create index oauth_user_code_tries_started_at on emanet.oauth_user_code_tries (started_at);

alter table emanet.oauth_artifacts enable row level security;
alter table emanet.oauth_artifacts force row level security;
create policy tenancy on emanet.oauth_artifacts using (emanet.in_scope(null));

alter table emanet.oauth_user_code_tries enable row level security;
alter table emanet.oauth_user_code_tries force row level security;
create policy tenancy on emanet.oauth_user_code_tries using (emanet.in_scope(null));

grant select, insert, update, delete on emanet.oauth_artifacts, emanet.oauth_user_code_tries to emanet_app;

-- The agent's client: the only one of kind 'agent', public (programs on customers' machines keep no secret), and only
-- by the device flow. Its id is known to the agent.
select set_config('emanet.scope', 'platform', true);

insert into emanet.oauth_clients (id, account_id, kind, name, auth_method, grant_types, scopes, created_at, updated_at)
values (
  '01990000-0000-7000-8000-00000000a6e7', null, 'agent', 'Emanet Agent', 'none', '{device_code}',
  '{snapshots:read,snapshots:write,restores:read,restores:write,taxpayers:read,account:read}',
  '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'
);
