-- Owners are mailed once when the time has come at which they wanted to look at a hold again (packages/server/src/retention).
alter table emanet.snapshots add column hold_review_mailed_at timestamptz;
create index snapshots_hold_review on emanet.snapshots (hold_review_at)
  where legal_hold and hold_review_at is not null and hold_review_mailed_at is null;
