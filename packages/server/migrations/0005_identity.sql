-- Sign-in: what a person proves who they are with, their sessions, the links and codes they were sent, and the keys
-- that sign access tokens.

-- Root key: everything that is sealed or hashed with a key derives from it. It is kept wrapped by the master key, which
-- stays outside the database; changing the master key wraps this one row anew.
create table emanet.root_key (
  id integer primary key check (id = 1),
  wrapped bytea not null,
  -- Names the master key that wrapped it, without telling anything about it.
  wrapped_by text not null,
  created_at timestamptz not null,
  wrapped_at timestamptz not null
);

-- The service's own: read and written by the owner at start, never by requests.
alter table emanet.root_key enable row level security;

-- Keys that sign access tokens (ES256). published -> signing (active_at) -> only verifying (retired_at) -> gone (expires_at).
create table emanet.signing_keys (
  kid text primary key check (kid ~ '^[A-Za-z0-9_-]{8,64}$'),
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null,
  active_at timestamptz not null,
  retired_at timestamptz,
  expires_at timestamptz
);

alter table emanet.signing_keys enable row level security;
alter table emanet.signing_keys force row level security;
create policy tenancy on emanet.signing_keys using (emanet.in_scope(null));
grant select, insert, update, delete on emanet.signing_keys to emanet_app;

-- One row per person who can sign in. totp_last_step: the newest time step whose code was used; a code counts only for
-- a later step, so that each is good once.
create table emanet.credentials (
  person_id uuid primary key references emanet.people (id),
  account_id uuid,
  password_hash text not null,
  password_changed_at timestamptz not null,
  sealed_totp bytea not null,
  totp_last_step bigint not null default 0,
  -- A new authenticator that was shown and not confirmed yet.
  sealed_totp_next bytea,
  updated_at timestamptz not null
);

create table emanet.recovery_codes (
  person_id uuid not null references emanet.people (id),
  account_id uuid,
  code_hash bytea not null check (octet_length(code_hash) = 32),
  used_at timestamptz,
  primary key (person_id, code_hash)
);

-- A session is a family of refresh tokens, and the row every access token answers to (claim sid). generation counts the
-- rotations; the token of any generation can be derived again, refresh_hash names the one that is current.
-- person_id: who acts; null for machines. kind: what its tokens count as.
create table emanet.sessions (
  id uuid primary key,
  account_id uuid references emanet.accounts (id),
  person_id uuid references emanet.people (id),
  client_id uuid references emanet.oauth_clients (id),
  kind text not null check (kind in ('api', 'dashboard', 'agent')),
  -- What it may do at most; null: whatever its person may.
  scopes text[],
  amr text[] not null,
  auth_time timestamptz not null,
  generation integer not null default 0,
  refresh_hash bytea check (octet_length(refresh_hash) = 32),
  rotated_at timestamptz,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  idle_expires_at timestamptz not null,
  -- Null: no absolute end.
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_reason text check (revoked_reason ~ '^[a-z_]{1,40}$'),
  check (person_id is not null or client_id is not null)
);

create index sessions_person on emanet.sessions (person_id, created_at, id) where revoked_at is null;
create index sessions_client on emanet.sessions (client_id) where client_id is not null and revoked_at is null;
create index sessions_idle on emanet.sessions (idle_expires_at);

-- Browsers and programs that a person signed in from (cookie __Host-device).
create table emanet.devices (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  person_id uuid not null references emanet.people (id),
  account_id uuid,
  created_at timestamptz not null,
  last_used_at timestamptz not null
);

create index devices_person on emanet.devices (person_id);

-- Failed attempts per e-mail address (or e-mail and known device), existing or not: the id is a keyed hash.
create table emanet.attempts (
  id bytea primary key check (octet_length(id) = 32),
  consecutive integer not null,
  day_started_at timestamptz not null,
  day_count integer not null,
  locked_until timestamptz,
  updated_at timestamptz not null
);

create index attempts_updated_at on emanet.attempts (updated_at);

-- Codes by SMS. A challenge exists for every request, also for people who do not; then person_id is null and no code
-- is right. tries counts down in the statement that compares, so that parallel guesses cannot have more.
create table emanet.otp_challenges (
  id uuid primary key,
  account_id uuid,
  person_id uuid references emanet.people (id),
  purpose text not null check (purpose in ('sign_in', 'step_up', 'phone')),
  code_hash bytea not null check (octet_length(code_hash) = 32),
  -- purpose phone: the number that is being proved.
  phone text,
  link_id uuid,
  tries_left integer not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

create index otp_challenges_expires_at on emanet.otp_challenges (expires_at);

-- How many messages a phone got: caps per phone that nobody is told of. The id is a keyed hash of the number.
create table emanet.phone_messages (
  id bytea not null check (octet_length(id) = 32),
  sent_at timestamptz not null
);

create index phone_messages_id on emanet.phone_messages (id, sent_at);

-- Links in mails: single use, spent by a POST. Only a hash of the secret in the link is kept.
create table emanet.links (
  id uuid primary key,
  account_id uuid,
  person_id uuid references emanet.people (id),
  application_id uuid references emanet.applications (id),
  purpose text not null check (purpose in ('enrolment', 'password_reset', 'second_factor_reset', 'withdrawal')),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- purpose enrolment and second_factor_reset: the authenticator that is being set up.
  sealed_totp bytea,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  spent_at timestamptz
);

create index links_person on emanet.links (person_id) where spent_at is null;

-- A second factor that staff were asked to reset: waits for an owner's word or for effective_at.
create table emanet.second_factor_resets (
  id uuid primary key,
  account_id uuid not null,
  person_id uuid not null references emanet.people (id),
  requested_by uuid not null,
  reason text not null,
  created_at timestamptz not null,
  effective_at timestamptz not null,
  state text not null check (state in ('waiting', 'done', 'canceled')),
  decided_by uuid,
  decided_at timestamptz
);

create unique index second_factor_resets_waiting on emanet.second_factor_resets (person_id) where state = 'waiting';

do $$
declare
  name text;
begin
  foreach name in array array[
    'credentials', 'recovery_codes', 'sessions', 'devices', 'otp_challenges', 'links', 'second_factor_resets'
  ] loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format('create policy tenancy on emanet.%I using (emanet.in_scope(account_id))', name);
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
  -- Belong to nobody and hold keyed hashes only: every scope may count in them.
  foreach name in array array['attempts', 'phone_messages'] loop
    execute format('alter table emanet.%I enable row level security', name);
    execute format('alter table emanet.%I force row level security', name);
    execute format(
      'create policy counting on emanet.%I using (current_setting(''emanet.scope'', true) in (''account'', ''platform'', ''staff'', ''system''))', name
    );
    execute format('grant select, insert, update, delete on emanet.%I to emanet_app', name);
  end loop;
end
$$;

-- Everything that a request's token depends on, in one statement: whoever is asking is looked up anew each time, so a
-- revoked session, a removed member or a changed role counts from the next request on, on every process.
create function emanet.token_subject(session_id uuid) returns table (
  account_id uuid, person_id uuid, client_id uuid, kind text, scopes text[], auth_time timestamptz, amr text[],
  session_ended boolean, idle_expires_at timestamptz, expires_at timestamptz,
  person_role text, person_state text, client_scopes text[], client_vaults uuid[], client_revoked boolean,
  account_state text, account_closed_at timestamptz, package text, early_access boolean, entitlements text[],
  api_package text
)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    #variable_conflict use_column
    declare
      outer_scope text := current_setting('emanet.scope', true);
    begin
    -- Whose token it is becomes known here, so it runs before any account's scope; the caller's is put back.
    perform set_config('emanet.scope', 'system', true);
    return query select s.account_id, s.person_id, s.client_id, s.kind, s.scopes, s.auth_time, s.amr,
      s.revoked_at is not null, s.idle_expires_at, s.expires_at,
      p.role, p.state, c.scopes, c.vault_ids, c.revoked_at is not null,
      a.state, case when a.state = 'closed' then a.state_changed_at end, a.package, a.early_access,
      array(
        select e from unnest(k.entitlements) e
          where not exists (
            select from emanet.account_entitlements o
              where o.account_id = a.id and o.entitlement = e and not o.enabled
          )
        union
        select o.entitlement from emanet.account_entitlements o where o.account_id = a.id and o.enabled
      ),
      (select name from emanet.packages where 'api' = any (packages.entitlements) order by rank limit 1)
    from emanet.sessions s
      left join emanet.people p on p.id = s.person_id
      left join emanet.oauth_clients c on c.id = s.client_id
      left join emanet.accounts a on a.id = s.account_id
      left join emanet.packages k on k.name = a.package
    where s.id = session_id;
    perform set_config('emanet.scope', coalesce(outer_scope, ''), true);
    end
  $$;

revoke all on function emanet.token_subject(uuid) from public;
grant execute on function emanet.token_subject(uuid) to emanet_app;
