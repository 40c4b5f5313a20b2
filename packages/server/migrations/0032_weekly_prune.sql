-- A vault is also pruned a week after a completed snapshot: processes that were killed while they stored it can have left packs.
-- Of a completed snapshot, pruned_at says that this was done.
drop index emanet.snapshots_unpruned;
create index snapshots_unpruned on emanet.snapshots (vault_id) where pruned_at is null;
