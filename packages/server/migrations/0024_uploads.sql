-- Uploads of agents through the upload protocol: what the catalog does not keep of them.

create table emanet.uploads (
  -- Also the name of the upload in the catalog.
  snapshot_id uuid primary key references emanet.snapshots (id),
  account_id uuid not null references emanet.accounts (id),
  vault_id uuid not null references emanet.vaults (id),
  agent_id uuid not null references emanet.agents (id),
  -- Of packs that are stored, or are being stored, and not registered yet. Counted in stored_bytes of the vault.
  reserved_bytes bigint not null default 0 check (reserved_bytes >= 0),
  -- Items that were registered. They bound the ordinals that the upload may reserve.
  item_count bigint not null default 0 check (item_count >= 0),
  begun_at timestamptz not null
);

create index uploads_agent on emanet.uploads (agent_id);

alter table emanet.uploads enable row level security;
alter table emanet.uploads force row level security;
create policy tenancy on emanet.uploads using (emanet.in_scope(account_id));

grant select, insert, update on emanet.uploads to emanet_app;
