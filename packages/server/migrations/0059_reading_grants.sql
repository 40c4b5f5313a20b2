-- What a machine may read with was approved for an hour, and lasted as long as what it may write with.

select set_config('emanet.scope', 'system', true);
update emanet.sessions set expires_at = created_at + interval '1 hour'
  where kind = 'agent' and expires_at is null and scopes && '{snapshots:read,restores:read}';
select set_config('emanet.scope', '', true);
