-- Events and audit records travel with the commit, in one batch (kernel/tx.ts).

-- The head of a chain also has the hash before its last one. So one statement takes the next number, hashes the record with
-- the hash before it and writes both hashes with the record (kernel/audit.ts). Null until the next record is written.
alter table emanet.audit_heads add column prev_hash bytea check (octet_length(prev_hash) = 32);

-- The last statement before a COMMIT. Returns what the triggers collected (migration 0015). Refuses a transaction that is
-- older than most_ms, because its caller got an error meanwhile: the statements before it can wait for locks.
create function emanet.before_commit(most_ms double precision) returns text
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      if clock_timestamp() > transaction_timestamp() + most_ms * interval '1 millisecond' then
        raise exception 'the transaction took too long' using errcode = 'query_canceled';
      end if;
      return current_setting('emanet.changed', true);
    end
  $$;
