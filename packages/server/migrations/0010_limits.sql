-- Limits: the rates of packages, rates that staff set for one account, requests for such a rate, and bans.
--
-- A limit request is pending -> approved | rejected. A ban holds from created_at until it expires (null: for good) or
-- is lifted.

-- The table is forced under row-level security even for its owner, who changes the price list here.
alter table emanet.packages no force row level security;
alter table emanet.packages add column requests_per_minute integer;
alter table emanet.packages add column burst integer;
update emanet.packages set (requests_per_minute, burst) = (select r, b from (values
  ('starter', 60, 100), ('professional', 300, 500), ('accountant', 600, 1000), ('corporate', 1500, 3000)
) as rates (name, r, b) where rates.name = packages.name);
alter table emanet.packages alter column requests_per_minute set not null;
alter table emanet.packages alter column burst set not null;
alter table emanet.packages force row level security;

create table emanet.account_limits (
  account_id uuid not null references emanet.accounts (id),
  policy text not null check (policy ~ '^[a-z_]{1,40}$'),
  rate_limit integer not null check (rate_limit > 0),
  window_s integer not null check (window_s > 0),
  burst integer not null check (burst > 0),
  set_at timestamptz not null,
  primary key (account_id, policy)
);

create table emanet.limit_requests (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  policy text not null check (policy ~ '^[a-z_]{1,40}$'),
  rate_limit integer not null check (rate_limit > 0),
  window_s integer not null check (window_s > 0),
  burst integer not null check (burst > 0),
  reason text not null check (length(reason) between 1 and 2000),
  state text not null check (state in ('pending', 'approved', 'rejected')),
  requested_by uuid not null,
  decided_by uuid,
  decision_reason text,
  decided_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((state = 'pending') = (decided_at is null))
);

create index limit_requests_account on emanet.limit_requests (account_id, created_at desc, id desc);
create index limit_requests_state on emanet.limit_requests (state, created_at desc, id desc);
-- One at a time for each policy: staff answer before the next one is asked.
create unique index limit_requests_pending on emanet.limit_requests (account_id, policy) where state = 'pending';

-- subject: the id of a client or session, or an address (the /64 of an IPv6 one). account_id: whose credential it is;
-- null for addresses and staff.
create table emanet.bans (
  id uuid primary key,
  kind text not null check (kind in ('client', 'session', 'address')),
  subject text not null check (length(subject) between 1 and 64),
  account_id uuid references emanet.accounts (id),
  cause text not null check (cause in ('pattern', 'staff')),
  reason text,
  created_by uuid,
  expires_at timestamptz,
  lifted_at timestamptz,
  lifted_by uuid,
  lift_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (kind <> 'address' or account_id is null),
  check ((cause = 'staff') = (created_by is not null))
);

create index bans_subject on emanet.bans (kind, subject, created_at desc);
create index bans_newest on emanet.bans (created_at desc, id desc);
-- What processes look for to learn of changes.
create index bans_changed on emanet.bans (updated_at) where kind = 'address';

alter table emanet.account_limits enable row level security;
alter table emanet.account_limits force row level security;
create policy tenancy on emanet.account_limits using (emanet.in_scope(account_id));

alter table emanet.limit_requests enable row level security;
alter table emanet.limit_requests force row level security;
create policy tenancy on emanet.limit_requests using (emanet.in_scope(account_id));

alter table emanet.bans enable row level security;
alter table emanet.bans force row level security;
create policy tenancy on emanet.bans using (emanet.in_scope(account_id));

grant select, insert, update, delete on emanet.account_limits to emanet_app;
grant select, insert, update on emanet.limit_requests, emanet.bans to emanet_app;
-- Addresses are personal: their bans go after a month.
grant delete on emanet.bans to emanet_app;

-- What a token stands for, now with the account's rates and the ban that holds longest.
drop function emanet.token_subject(uuid);
create function emanet.token_subject(session_id uuid) returns table (
  account_id uuid, person_id uuid, client_id uuid, kind text, scopes text[], auth_time timestamptz, amr text[],
  session_ended boolean, idle_expires_at timestamptz, expires_at timestamptz,
  person_role text, person_state text, client_scopes text[], client_vaults uuid[], client_revoked boolean,
  account_state text, account_closed_at timestamptz, package text, early_access boolean, entitlements text[],
  api_package text, requests_per_minute integer, burst integer, custom_limits jsonb,
  is_banned boolean, ban_expires_at timestamptz
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
      (select name from emanet.packages where 'api' = any (packages.entitlements) order by rank limit 1),
      k.requests_per_minute, k.burst,
      (select jsonb_object_agg(l.policy, jsonb_build_array(l.rate_limit, l.window_s, l.burst))
        from emanet.account_limits l where l.account_id = a.id),
      b.id is not null, b.expires_at
    from emanet.sessions s
      left join emanet.people p on p.id = s.person_id
      left join emanet.oauth_clients c on c.id = s.client_id
      left join emanet.accounts a on a.id = s.account_id
      left join emanet.packages k on k.name = a.package
      left join lateral (
        select x.id, x.expires_at from emanet.bans x
          where ((x.kind = 'session' and x.subject = s.id::text) or (x.kind = 'client' and x.subject = s.client_id::text))
            and x.lifted_at is null
          order by x.expires_at desc nulls first limit 1
      ) b on true
    where s.id = session_id;
    perform set_config('emanet.scope', coalesce(outer_scope, ''), true);
    end
  $$;

revoke all on function emanet.token_subject(uuid) from public;
grant execute on function emanet.token_subject(uuid) to emanet_app;
