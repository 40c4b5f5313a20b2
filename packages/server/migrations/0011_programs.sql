-- Programs are not people. A client has a role of its own, and a person who answers for it; when that person leaves or
-- loses rights, the client (or what a person allowed one to do) waits for an owner's review and only writes snapshots.

alter table emanet.oauth_clients
  -- What it may do at most, whatever its scopes are. Null for the service's own client, which acts for members only.
  add column role text check (role in ('owner', 'manager', 'operator', 'viewer', 'auditor')),
  -- Who answers for it: who made it, later the owner who reviewed it.
  add column responsible_id uuid references emanet.people (id),
  -- Since when it waits for a review; null: it does not.
  add column review_since timestamptz;

alter table emanet.sessions
  -- Of a grant: since when it waits for a review. Its person no longer answers for it.
  add column review_since timestamptz;

update emanet.oauth_clients c set
  role = case when p.role = 'owner' then 'owner' else 'manager' end,
  responsible_id = p.id,
  review_since = case when p.state = 'active' and p.role in ('owner', 'manager') then null else now() end
from emanet.oauth_clients o left join emanet.people p on p.id = o.created_by and p.account_id = o.account_id
where c.id = o.id and c.account_id is not null;

alter table emanet.oauth_clients add check ((role is null) = (account_id is null));

create index oauth_clients_responsible on emanet.oauth_clients (responsible_id) where revoked_at is null;

drop function emanet.token_subject(uuid);
create function emanet.token_subject(session_id uuid) returns table (
  account_id uuid, person_id uuid, client_id uuid, kind text, scopes text[], auth_time timestamptz, amr text[],
  session_ended boolean, idle_expires_at timestamptz, expires_at timestamptz,
  person_role text, person_state text,
  client_scopes text[], client_vaults uuid[], client_revoked boolean, client_role text, in_review boolean,
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
      p.role, p.state,
      c.scopes, c.vault_ids, c.revoked_at is not null, c.role,
      s.review_since is not null or c.review_since is not null,
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
