-- Events are read by customers: by vault, by time, and for thirty days.

-- The vault in which it happened. A client that is held to vaults sees the events of these alone.
alter table emanet.events add column vault_id uuid;
-- Events up to this number are not kept any more. Who asks for one of them has missed it.
alter table emanet.event_heads add column expired_through bigint not null default 0;

create index events_created_at on emanet.events (created_at);

-- The events that exist are of snapshots and vaults, or of no vault.
select set_config('emanet.scope', 'system', true);
update emanet.events set vault_id = (payload::json ->> 'vault_id')::uuid where type = 'vault.quota_warning';
update emanet.events set vault_id = snapshots.vault_id from emanet.snapshots
  where events.type like 'snapshot.%' and snapshots.id = (events.payload::json ->> 'snapshot_id')::uuid;
select set_config('emanet.scope', '', true);
