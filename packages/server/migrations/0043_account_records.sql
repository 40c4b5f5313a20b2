-- What is needed to make a lost database again: the object store has a sealed record of every account's master data, and one of
-- the platform's (packages/server/src/recovery). Triggers note what changed; a job writes the records.

-- A change that no record has yet. account_id null: of the platform. Rows are only added and deleted, so that transactions of
-- one account do not wait for each other here.
create table emanet.account_changes (
  id bigint generated always as identity primary key,
  account_id uuid
);

-- The number of the newest record that was begun: the store has this one or an earlier one, never a later one.
create table emanet.account_records (
  id uuid primary key,
  account_id uuid,
  generation bigint not null check (generation > 0)
);

-- How often the service has noted in the store that it runs. The store has this number or a lower one, never a higher one.
create table emanet.store_beat (
  id integer primary key check (id = 1),
  beat bigint not null
);

insert into emanet.store_beat (id, beat) values (1, 0);

alter table emanet.account_changes enable row level security;
alter table emanet.account_changes force row level security;
create policy tenancy on emanet.account_changes using (emanet.in_scope(account_id));

alter table emanet.account_records enable row level security;
alter table emanet.account_records force row level security;
create policy tenancy on emanet.account_records using (emanet.in_scope(account_id));

alter table emanet.store_beat enable row level security;
alter table emanet.store_beat force row level security;
create policy tenancy on emanet.store_beat using (emanet.in_scope(null));

grant select, insert, delete on emanet.account_changes to emanet_app;
grant select, insert, update on emanet.account_records to emanet_app;
grant select, update on emanet.store_beat to emanet_app;

create function emanet.note_account_change() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
    begin
      insert into emanet.account_changes (account_id)
      values ((changed ->> case tg_table_name when 'accounts' then 'id' else 'account_id' end)::uuid);
      return null;
    end
  $$;

-- Columns that change with every snapshot or sign-in are in no record, and their updates fire no trigger.
create trigger note_for_record after insert or update on emanet.accounts
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update or delete on emanet.account_entitlements
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update on emanet.people
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update of password_hash, sealed_totp, changed_at on emanet.credentials
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update or delete on emanet.recovery_codes
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update of name, auth_method, grant_types, redirect_uris, scopes, vault_ids, jwks,
    revoked_at, role, responsible_id, review_since on emanet.oauth_clients
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update or delete on emanet.oauth_client_secrets
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update of name, kind, quota_bytes, quota_warning_bytes on emanet.vaults
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update on emanet.taxpayers
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update of name, kind, expected_every_s on emanet.sources
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or delete on emanet.source_aliases
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or delete on emanet.source_writers
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update of name, public_key, revoked_at, roots, allow_overwrite on emanet.agents
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update on emanet.agent_vaults
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert on emanet.first_run
  for each row execute function emanet.note_account_change();
create trigger note_for_record after insert or update on emanet.receipt_keys
  for each row execute function emanet.note_account_change();

-- What exists already.
select set_config('emanet.scope', 'system', true);
insert into emanet.account_changes (account_id) select id from emanet.accounts;
insert into emanet.account_changes (account_id) values (null);
select set_config('emanet.scope', '', true);
