-- A snapshot that somebody reads for hours does not expire meanwhile (packages/server/src/snapshots/read-lease.ts).
alter table emanet.snapshots add column read_until timestamptz;
