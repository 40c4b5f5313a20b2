-- Agents: installed backup clients, each with a signing key, and the vaults that they may write to.

create table emanet.agents (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  -- Who uploads with this key: a device grant (its session), or an OAuth client of the account.
  writer_kind text not null check (writer_kind in ('agent', 'client')),
  writer_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  host text check (length(host) between 1 and 255),
  os text check (length(os) between 1 and 100),
  software_version text check (length(software_version) between 1 and 50),
  -- Ed25519.
  public_key bytea not null check (length(public_key) = 32),
  -- What the machine permits, as its own settings say.
  allow_overwrite boolean not null default false,
  roots text[] not null default '{}',
  last_seen_at timestamptz,
  last_snapshot_id uuid,
  last_result text check (last_result in ('completed', 'failed', 'canceled')),
  last_result_at timestamptz,
  -- The member who made it, or who allowed its device grant.
  created_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revoked_at timestamptz,
  check ((last_result is null) = (last_result_at is null)),
  -- A revoked key stays revoked in the chains of its vaults, so it is never registered again.
  unique (account_id, public_key)
);

create unique index agents_writer on emanet.agents (writer_kind, writer_id) where revoked_at is null;
create index agents_account on emanet.agents (account_id, created_at, id) where revoked_at is null;

create table emanet.agent_vaults (
  agent_id uuid not null references emanet.agents (id),
  vault_id uuid not null references emanet.vaults (id),
  account_id uuid not null,
  -- The agent's public key, signed by the vault's authority (docs/FORMAT.md, section 2).
  registration bytea not null check (length(registration) = 104),
  registered_at timestamptz not null,
  -- The agent may not write to the vault any more; and when the vault's chain has the record of it.
  removed_at timestamptz,
  revocation_recorded_at timestamptz,
  primary key (agent_id, vault_id)
);

create index agent_vaults_vault on emanet.agent_vaults (vault_id);

alter table emanet.agents enable row level security;
alter table emanet.agents force row level security;
create policy tenancy on emanet.agents using (emanet.in_scope(account_id));

alter table emanet.agent_vaults enable row level security;
alter table emanet.agent_vaults force row level security;
create policy tenancy on emanet.agent_vaults using (emanet.in_scope(account_id));

grant select, insert, update on emanet.agents, emanet.agent_vaults to emanet_app;
