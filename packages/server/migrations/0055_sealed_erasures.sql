-- What the service decided about an erasure, sealed (packages/server/src/erasures/decided.ts). A row that somebody else wrote has no seal, and
-- nothing is destroyed by it.
alter table emanet.erasures add column sealed bytea;
-- When a vault that something keeps was last asked about: the others come first.
alter table emanet.vaults add column erasure_asked_at timestamptz;
-- When the people of a closed account were erased, with everything else that says whose it was (packages/server/src/audit/erase-accounts.ts).
alter table emanet.accounts add column erased_at timestamptz;
grant update (label) on emanet.audit_shares to emanet_app;
