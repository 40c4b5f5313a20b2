-- Recovery kits (packages/server/src/recovery-kits): the decryption keys of a vault for its owner. The keys themselves are not in this table.
create table emanet.recovery_kits (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  -- waiting → delivered, canceled. One that nobody fetches expires by its time.
  state text not null check (state in ('waiting', 'delivered', 'canceled')),
  created_by uuid not null,
  created_at timestamptz not null,
  -- A rebuilt database waits again: nobody could cancel meanwhile.
  ready_at timestamptz not null default now() + interval '24 hours',
  -- Who fetched or canceled it.
  ended_by uuid,
  ended_at timestamptz,
  -- The newest epoch of the keys in it.
  key_epoch integer,
  check ((state = 'waiting') = (ended_at is null)),
  check ((state = 'delivered') = (key_epoch is not null))
);
create index recovery_kits_list on emanet.recovery_kits (account_id, created_at desc, id desc);
create unique index recovery_kits_waiting on emanet.recovery_kits (vault_id) where state = 'waiting';
alter table emanet.recovery_kits enable row level security;
alter table emanet.recovery_kits force row level security;
create policy tenancy on emanet.recovery_kits using (emanet.in_scope(account_id));
grant select, insert, update on emanet.recovery_kits to emanet_app;
create trigger note_for_record after insert or update on emanet.recovery_kits
  for each row execute function emanet.note_account_change();
