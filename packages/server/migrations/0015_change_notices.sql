-- Changes of rows that processes keep in memory. A trigger announces them to other processes (NOTIFY, at the commit), and
-- collects them for the transaction itself in the setting emanet.changed, which kernel/tx.ts reads at the commit.
--
-- A notice is what changed, a word, and whose: the account's id, or * for any account. The triggers and not the queries do
-- it, so that no change is forgotten, also not one that an operator makes by hand.

-- Arguments: the word, and the column that holds the account's id; without a column the notice is about all accounts.
create function emanet.note_change() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      changed jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
      -- What belongs to no account can concern any: staff, a client that all accounts share.
      notice text := tg_argv[0] || ' ' || coalesce(changed ->> tg_argv[1], '*');
      known text := coalesce(current_setting('emanet.changed', true), '');
    begin
      if position(notice || chr(10) in known) > 0 then
        return null;
      end if;
      perform set_config('emanet.changed', known || notice || chr(10), true);
      perform pg_notify('emanet_changes', notice);
      return null;
    end
  $$;

-- subject: what the rights of a session depend on (emanet.token_subject). New sessions and people are in no memory yet.
create trigger note_change after update or delete on emanet.sessions
  for each row execute function emanet.note_change('subject', 'account_id');
create trigger note_change after update or delete on emanet.people
  for each row execute function emanet.note_change('subject', 'account_id');
create trigger note_change after update or delete on emanet.oauth_clients
  for each row execute function emanet.note_change('subject', 'account_id');
create trigger note_change after update or delete on emanet.accounts
  for each row execute function emanet.note_change('subject', 'id');
create trigger note_change after insert or update or delete on emanet.account_entitlements
  for each row execute function emanet.note_change('subject', 'account_id');
create trigger note_change after insert or update or delete on emanet.account_limits
  for each row execute function emanet.note_change('subject', 'account_id');
create trigger note_change after insert or update or delete on emanet.packages
  for each row execute function emanet.note_change('subject');
create trigger note_change after insert or update on emanet.bans
  for each row when (new.kind <> 'address') execute function emanet.note_change('subject', 'account_id');
create trigger note_deletion after delete on emanet.bans
  for each row when (old.kind <> 'address') execute function emanet.note_change('subject', 'account_id');

-- address_bans: the addresses that every process knows.
create trigger note_address after insert or update on emanet.bans
  for each row when (new.kind = 'address') execute function emanet.note_change('address_bans');
