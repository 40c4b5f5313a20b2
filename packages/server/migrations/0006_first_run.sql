-- What only the profiles local and sandbox have: the accounts of the first start, and a clock that can be moved.

create table emanet.first_run (
  id integer primary key check (id = 1),
  -- The file first-run.json without its addresses, sealed: every process on this database writes the same.
  sealed bytea not null,
  created_at timestamptz not null
);

create table emanet.sandbox_clock (
  id integer primary key check (id = 1),
  offset_ms bigint not null
);

alter table emanet.first_run enable row level security;
alter table emanet.first_run force row level security;
create policy tenancy on emanet.first_run using (emanet.in_scope(null));
grant select, insert on emanet.first_run to emanet_app;

alter table emanet.sandbox_clock enable row level security;
alter table emanet.sandbox_clock force row level security;
create policy tenancy on emanet.sandbox_clock using (emanet.in_scope(null));
grant select, insert, update on emanet.sandbox_clock to emanet_app;

-- Read before every request of a sandbox, in one statement and outside any scope.
create function emanet.sandbox_offset() returns bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      outer_scope text := current_setting('emanet.scope', true);
      ahead bigint;
    begin
      perform set_config('emanet.scope', 'platform', true);
      select offset_ms into ahead from emanet.sandbox_clock where id = 1;
      perform set_config('emanet.scope', coalesce(outer_scope, ''), true);
      return coalesce(ahead, 0);
    end
  $$;

revoke all on function emanet.sandbox_offset() from public;
grant execute on function emanet.sandbox_offset() to emanet_app;
