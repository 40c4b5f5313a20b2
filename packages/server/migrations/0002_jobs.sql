-- Jobs. A row of emanet.jobs is the job itself; graphile-worker only holds pointers to rows that are due, so that
-- nothing personal and no decision lives in its tables, and they could be rebuilt from this one.
--
-- States of a job:
--   scheduled  waits until run_at by the application's clock          -> queued
--   queued     has a pointer in graphile_worker; claimed_by says which worker runs it, null while none does
--                                                -> (row deleted: done) | scheduled (retry, released) | failed
--   failed     will not run again; kept without a payload after a while, for the operator
-- dispatch counts the pointers made for a job: an older pointer finds no row and does nothing.
-- The application role has no right on these tables; emanet.enqueue_job is its only door.

create table emanet.jobs (
  id uuid primary key,
  task text not null check (task ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$' and length(task) <= 100),
  key text check (length(key) between 1 and 200),
  payload json check (octet_length(payload::text) <= 262144),
  state text not null check (state in ('scheduled', 'queued', 'failed')),
  attempt integer not null default 1 check (attempt >= 1),
  dispatch integer not null default 0 check (dispatch >= 0),
  crashes integer not null default 0 check (crashes >= 0),
  claimed_by text,
  run_at timestamptz not null,
  created_at timestamptz not null,
  failed_at timestamptz,
  -- Class and code of the last error. Never its message, which may hold personal data.
  error_class text,
  error_code text,
  check ((state = 'failed') = (failed_at is not null)),
  check (state = 'queued' or claimed_by is null),
  check (state = 'failed' or payload is not null)
);

create unique index jobs_unfinished_key on emanet.jobs (task, key) where key is not null and state <> 'failed';
create index jobs_scheduled on emanet.jobs (run_at, id) where state = 'scheduled';
create index jobs_claimed on emanet.jobs (claimed_by) where claimed_by is not null;
create index jobs_failed on emanet.jobs (failed_at) where state = 'failed';

-- Every running worker has a row here and holds a session advisory lock derived from its id. A row whose lock is free
-- is a worker that died; queues are the names under which graphile-worker locked pointers for it.
create table emanet.job_workers (
  id text primary key,
  queues text[] not null default '{}',
  started_at timestamptz not null
);

-- The owner's alone: no grant, and no policy for anybody else.
alter table emanet.jobs enable row level security;
alter table emanet.job_workers enable row level security;

-- Makes the pointer of a queued job. Late-bound and by argument name, so that it survives upgrades of graphile-worker.
create function emanet.dispatch_job(job_id uuid, job_task text, job_dispatch integer) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      perform graphile_worker.add_job(
        identifier => job_task,
        payload => json_build_object('job_id', job_id, 'dispatch', job_dispatch),
        job_key => job_id::text || ':' || job_dispatch::text,
        -- Not the default now(), the same for a whole transaction: pointers are taken in the order they were made in.
        run_at => clock_timestamp(),
        -- Its own counter must never end a job: attempts are counted in emanet.jobs. The largest smallint.
        max_attempts => 32767
      );
    end
  $$;

create function emanet.enqueue_job(
  job_id uuid, job_task text, job_payload json, job_key text, job_run_at timestamptz, clock_now timestamptz
) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      is_due boolean := job_run_at <= clock_now;
    begin
      insert into emanet.jobs (id, task, key, payload, state, dispatch, run_at, created_at)
        values (
          job_id, job_task, job_key, job_payload,
          case when is_due then 'queued' else 'scheduled' end,
          case when is_due then 1 else 0 end,
          job_run_at, clock_now
        )
        on conflict (task, key) where key is not null and state <> 'failed' do nothing;
      if not found then
        return false;
      end if;
      if is_due then
        perform emanet.dispatch_job(job_id, job_task, 1);
      end if;
      return true;
    end
  $$;

revoke all on function emanet.dispatch_job(uuid, text, integer) from public;
revoke all on function emanet.enqueue_job(uuid, text, json, text, timestamptz, timestamptz) from public;
grant execute on function emanet.enqueue_job(uuid, text, json, text, timestamptz, timestamptz) to emanet_app;
