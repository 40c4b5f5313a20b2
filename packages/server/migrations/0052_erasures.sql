-- Erasure of vaults (packages/server/src/erasures): at the end of a deletion, and 90 days after the closing of an account.
create table emanet.erasures (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null unique references emanet.vaults (id),
  cause text not null check (cause in ('vault_deletion', 'taxpayer_deletion', 'account_closing')),
  -- The act that decided it, who started it, and the end of its 72 hours.
  act_id uuid not null,
  ordered_by uuid not null,
  due_at timestamptz not null,
  -- erasing → erased. A process that ends in between is followed by the next run.
  state text not null check (state in ('erasing', 'erased')),
  -- What was there when it began.
  key_objects integer not null check (key_objects >= 0),
  objects bigint not null check (objects >= 0),
  bytes bigint not null check (bytes >= 0),
  snapshots bigint not null check (snapshots >= 0),
  created_at timestamptz not null,
  keys_destroyed_at timestamptz,
  erased_at timestamptz,
  -- A compact JWS of the receipt key.
  proof text,
  -- When the store was last looked at for objects that came back with an old copy of it.
  checked_at timestamptz,
  check ((state = 'erased') = (erased_at is not null and proof is not null and keys_destroyed_at is not null))
);
create index erasures_list on emanet.erasures (account_id, created_at desc, id desc);
create index erasures_open on emanet.erasures (created_at) where state = 'erasing';
create index erasures_checked on emanet.erasures (checked_at) where state = 'erased';
alter table emanet.erasures enable row level security;
alter table emanet.erasures force row level security;
create policy tenancy on emanet.erasures using (emanet.in_scope(account_id));
grant select, insert, update on emanet.erasures to emanet_app;
create trigger note_for_record after insert or update of state on emanet.erasures
  for each row execute function emanet.note_account_change();

-- From then on nothing opens the vault any more.
alter table emanet.vaults add column erasing_at timestamptz;
drop trigger note_for_record on emanet.vaults;
create trigger note_for_record after insert or update of name, kind, quota_bytes, quota_warning_bytes, deleted_at, erasing_at on emanet.vaults
  for each row execute function emanet.note_account_change();
-- vault: what processes keep of open vaults. They forget those of the account.
create trigger note_change after update of erasing_at on emanet.vaults
  for each row when (new.erasing_at is distinct from old.erasing_at) execute function emanet.note_change('vault', 'account_id');
create index vaults_deleted on emanet.vaults (id) where deleted_at is not null and erasing_at is null;
