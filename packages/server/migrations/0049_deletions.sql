-- Deletion of sources, taxpayers and vaults (packages/server/src/retention). A deleted row stays for the history of its snapshots; its name and
-- its tax number are free again.
alter table emanet.sources drop constraint sources_vault_id_name_key;
create unique index sources_unique_name on emanet.sources (vault_id, name) where deleted_at is null;
alter table emanet.taxpayers drop constraint taxpayers_account_id_tax_id_key;
create unique index taxpayers_unique_tax_id on emanet.taxpayers (account_id, tax_id) where deleted_at is null;

-- What is left of deleted sources is looked for every few minutes.
create index sources_deleted on emanet.sources (vault_id) where deleted_at is not null;
create index snapshots_of_source_left on emanet.snapshots (source_id) where state in ('queued', 'running', 'completed');

-- A deletion is part of the account's record in the object store.
drop trigger note_for_record on emanet.vaults;
create trigger note_for_record after insert or update of name, kind, quota_bytes, quota_warning_bytes, deleted_at on emanet.vaults
  for each row execute function emanet.note_account_change();
drop trigger note_for_record on emanet.sources;
create trigger note_for_record after insert or update of name, kind, expected_every_s, deleted_at on emanet.sources
  for each row execute function emanet.note_account_change();
