-- Keys that sign receipts (Ed25519). The newest signs; the private part of the others is deleted. Public parts stay for ever:
-- a receipt is checked years later. introduction: a JWS with this key, signed by the key before it; null for the first key.
create table emanet.receipt_keys (
  number integer primary key check (number > 0),
  kid text not null unique check (kid ~ '^[A-Za-z0-9_-]{8,64}$'),
  public_key bytea not null check (octet_length(public_key) = 32),
  sealed_private bytea,
  introduction text check ((introduction is null) = (number = 1)),
  created_at timestamptz not null
);

alter table emanet.receipt_keys enable row level security;
alter table emanet.receipt_keys force row level security;
create policy tenancy on emanet.receipt_keys using (emanet.in_scope(null));
grant select, insert on emanet.receipt_keys to emanet_app;
grant update (sealed_private) on emanet.receipt_keys to emanet_app;
