-- Refused acts are few among a million records: without this, finding a page of them reads all records of the time.
create index audit_records_failures on emanet.audit_records (chain, occurred_at, id) where outcome = 'failure';
