-- An address belongs to the person who enrols it first. Until then any number of accounts may have invited it, so that
-- an invitation tells nothing about other accounts and stands in nobody's way.

drop index emanet.people_email_key;

-- Who signs in with an address: one person on the whole platform.
create unique index people_email_active on emanet.people (email_key) where state = 'active';

-- Within one account (or among staff) an address is listed once, invited or active.
create unique index people_email_account on emanet.people (account_id, email_key) nulls not distinct
  where state <> 'removed';

-- Mails with an invitation that an account has sent, to limit them. address is a keyed hash.
create table emanet.invitations (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  address bytea not null check (octet_length(address) = 32),
  -- Whether the address had been invited before.
  again boolean not null,
  sent_at timestamptz not null
);

create index invitations_account on emanet.invitations (account_id, sent_at);
create index invitations_sent_at on emanet.invitations (sent_at);

alter table emanet.invitations enable row level security;
alter table emanet.invitations force row level security;
create policy tenancy on emanet.invitations using (emanet.in_scope(account_id));
-- Update: expired rows are locked before they are deleted.
grant select, insert, update, delete on emanet.invitations to emanet_app;
