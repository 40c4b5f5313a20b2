-- Upkeep of each vault as jobs: scrub, heal, repack (packages/server/src/upkeep). The last result of each is shown to customers.
alter table emanet.vaults
  -- Staff have paused everything that deletes, moves or reads for its own sake.
  add column upkeep_paused_at timestamptz,
  add column upkeep_begun_at timestamptz,
  -- A scrub reads a thirtieth of the packs a day. The next slice, and what the last run found.
  add column scrub_slice integer not null default 0 check (scrub_slice >= 0),
  add column scrubbed_at timestamptz,
  add column scrub_round_ended_at timestamptz,
  add column scrubbed_packs bigint not null default 0 check (scrubbed_packs >= 0),
  add column scrub_findings bigint not null default 0 check (scrub_findings >= 0),
  add column healed_at timestamptz,
  add column healed_frames bigint not null default 0 check (healed_frames >= 0),
  add column damaged_frames bigint not null default 0 check (damaged_frames >= 0),
  add column repacked_at timestamptz,
  add column repacked_packs bigint not null default 0 check (repacked_packs >= 0);

-- The vault that waits longest is next.
create index vaults_upkeep on emanet.vaults (upkeep_begun_at nulls first, id) where keys_made_at is not null;
