-- Retention policies are part of an account's record in the object store: a rebuilt database keeps what the customer asked for.
create trigger note_for_record after insert or update on emanet.retention_policies
  for each row execute function emanet.note_account_change();

select set_config('emanet.scope', 'system', true);
insert into emanet.account_changes (account_id) select distinct account_id from emanet.retention_policies;
select set_config('emanet.scope', '', true);
