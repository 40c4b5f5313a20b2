-- Staff list the snapshots of all accounts, and those whose content was not what their writer said.
create index snapshots_created on emanet.snapshots (created_at, id) where state <> 'deleted';
create index snapshots_false on emanet.snapshots (created_at, id) where verification_failed_at is not null;

-- Why the last upload of an agent failed.
alter table emanet.agents
  add column last_failure_code text,
  add check ((last_failure_code is not null) <= (last_result in ('failed', 'canceled')));
