-- Closing of an account (packages/server/src/retention/closing.ts). It waits 72 hours like a deletion. Then the account is read and restored from until
-- erase_after, and its vaults are erased.
alter table emanet.pending_acts drop constraint pending_acts_kind_check;
alter table emanet.pending_acts add constraint pending_acts_kind_check check (kind in
  ('policy_change', 'hold_release', 'acceptance', 'source_deletion', 'taxpayer_deletion', 'vault_deletion', 'account_closing'));
alter table emanet.accounts add column erase_after timestamptz;
create index accounts_to_erase on emanet.accounts (erase_after) where erase_after is not null;
create index snapshots_open_of_account on emanet.snapshots (account_id) where state in ('queued', 'running');
