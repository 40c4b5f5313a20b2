-- The removal of deleted snapshots, and of what uploads left that ended without a snapshot.

alter table emanet.snapshots
  -- Of a deleted snapshot: from now on it cannot be undeleted, because its content is being removed.
  add column removed_at timestamptz,
  -- Of a deleted snapshot or an ended upload: its vault was pruned after its time, so what only it needed is gone.
  add column pruned_at timestamptz,
  add check ((removed_at is not null) <= (state = 'deleted'));

-- Few wait for their prune at any time.
create index snapshots_unpruned on emanet.snapshots (vault_id)
  where pruned_at is null and state in ('failed', 'canceled', 'deleted');
drop index emanet.snapshots_deleted;
