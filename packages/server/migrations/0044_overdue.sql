-- When `source.overdue` was last emitted for a source: once, until a good snapshot has come.
alter table emanet.sources add column overdue_at timestamptz;
