-- New key pairs of vaults (packages/server/src/vaults). Processes that have the vault open forget it.
alter table emanet.vaults add column key_epoch integer not null default 1 check (key_epoch > 0);
alter table emanet.vaults add column keys_rotated_at timestamptz;
drop trigger note_change on emanet.vaults;
create trigger note_change after update of erasing_at, key_epoch on emanet.vaults
  for each row when (new.erasing_at is distinct from old.erasing_at or new.key_epoch <> old.key_epoch)
  execute function emanet.note_change('vault', 'account_id');
drop trigger note_for_record on emanet.vaults;
create trigger note_for_record after insert or update of name, kind, quota_bytes, quota_warning_bytes, deleted_at, erasing_at, key_epoch on emanet.vaults
  for each row execute function emanet.note_account_change();
