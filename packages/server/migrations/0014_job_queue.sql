-- One queue: a row of emanet.jobs is the job and its place in the queue. graphile-worker is gone. Its tables held only
-- pointers to these rows, so dropping them loses nothing. A job that a worker of an earlier release was running waits
-- again and runs at least once more; stop these workers before the migration.
--
-- States of a job:
--   waiting   neither worker nor failed_at is set. It is due when run_at has come by the application's clock.
--                                                    -> running | (row deleted: canceled)
--   running   worker is the number of a worker. That worker holds the advisory lock (1785684595, number) for as long as
--             its database session lives.            -> (row deleted: done, canceled) | waiting (retry, released) | failed
--   failed    failed_at is set. It does not run again and is kept for the operator.
-- A running job with canceled set runs no further attempt.
-- The application role has no right on the table; it uses the functions below.

drop schema if exists graphile_worker cascade;
drop function emanet.enqueue_job(uuid, text, json, text, timestamptz, timestamptz);
drop function emanet.dispatch_job(uuid, text, integer);
drop function emanet.list_jobs(text, text, timestamptz, uuid, integer);
drop table emanet.job_workers;
drop index emanet.jobs_unfinished_key, emanet.jobs_scheduled, emanet.jobs_claimed, emanet.jobs_failed;

alter table emanet.jobs
  drop column state,
  drop column dispatch,
  drop column claimed_by,
  add column worker integer,
  add column priority smallint not null default 2 check (priority between 1 and 3),
  add column exclusive_key text check (length(exclusive_key) between 1 and 200),
  add column canceled boolean not null default false,
  -- Numbers by name, written by the task.
  add column progress json check (octet_length(progress::text) <= 1000),
  add check (worker is null or failed_at is null),
  add check (failed_at is not null or payload is not null);

-- Rows come and go all the time: dead ones are removed after a thousand, whatever the size of the table.
alter table emanet.jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, fillfactor = 70);

create unique index jobs_unfinished_key on emanet.jobs (task, key) where key is not null and failed_at is null;
create index jobs_waiting on emanet.jobs (priority, run_at, id) where worker is null and failed_at is null;
create index jobs_running on emanet.jobs (worker) where worker is not null;
create unique index jobs_running_exclusive on emanet.jobs (exclusive_key)
  where exclusive_key is not null and worker is not null;
create index jobs_exclusive on emanet.jobs (exclusive_key, priority, run_at, id)
  where exclusive_key is not null and worker is null and failed_at is null;
create index jobs_failed on emanet.jobs (failed_at) where failed_at is not null;

create function emanet.job_state(job emanet.jobs, clock_now timestamptz) returns text
  language sql immutable
  as $$
    select case
      when job.failed_at is not null then 'failed'
      when job.worker is not null then 'running'
      when job.run_at <= clock_now then 'queued'
      else 'scheduled'
    end
  $$;

create function emanet.enqueue_job(
  job_id uuid, job_task text, job_payload json, job_key text, job_exclusive_key text, job_priority integer,
  job_run_at timestamptz, clock_now timestamptz
) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      insert into emanet.jobs (id, task, payload, key, exclusive_key, priority, run_at, created_at)
        values (job_id, job_task, job_payload, job_key, job_exclusive_key, job_priority, job_run_at, clock_now)
        on conflict (task, key) where key is not null and failed_at is null do nothing;
      if found then
        perform pg_notify('emanet_jobs', '');
      end if;
      return found;
    end
  $$;

-- 'canceled': it was waiting and is gone. 'canceling': its worker is told to end it. Null: there is no such job, or it failed.
create function emanet.cancel_job(job_id uuid) returns text
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      job emanet.jobs;
    begin
      select * into job from emanet.jobs where id = job_id and failed_at is null for update;
      if not found then
        return null;
      end if;
      if job.worker is null then
        delete from emanet.jobs where id = job_id;
        return 'canceled';
      end if;
      update emanet.jobs set canceled = true where id = job_id;
      perform pg_notify('emanet_jobs', 'cancel ' || job_id);
      return 'canceling';
    end
  $$;

-- One unfinished or failed job, for the domain that knows its id.
create function emanet.job_status(job_id uuid, clock_now timestamptz)
  returns table (state text, attempt integer, canceled boolean, progress json, error_code text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select emanet.job_state(jobs, clock_now), jobs.attempt, jobs.canceled, jobs.progress, jobs.error_code
    from emanet.jobs where id = job_id
  $$;

-- One turn of a worker, which calls it in a session that holds its lock: writes the outcomes of ended jobs, then takes due
-- ones, in one commit. It waits for no row lock: an ended job whose row is locked, by a transaction that cancels it, is
-- returned in "locked" and written by a later turn. "limits" has the number of jobs to take: in all, of priority 2, of 3.
-- Of the jobs with one exclusive key only the first is taken, and none while one runs; the unique index refuses the turn if
-- another worker takes one at the same moment. Indexes serve every statement, and a plan that was made while the table was
-- empty must not read all of it later.
create function emanet.job_turn(me integer, ended json, limits integer[], clock_now timestamptz, tasks text[])
  returns table (written uuid[], locked uuid[], taken json)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
  as $$
    begin
      if json_array_length(ended) > 0 then
        written := array(
          select jobs.id from json_to_recordset(ended) as new (id uuid) join emanet.jobs using (id)
          where worker = me for update of jobs skip locked
        );
        delete from emanet.jobs using json_to_recordset(ended) as new (id uuid, keep boolean)
          where jobs.id = new.id and jobs.id = any (written) and (canceled or not keep);
        update emanet.jobs
          set worker = null, progress = null, attempt = new.attempt, crashes = new.crashes, run_at = new.run_at,
              failed_at = new.failed_at, error_class = new.error_class, error_code = new.error_code
          from json_to_recordset(ended) as new (id uuid, attempt integer, crashes integer, run_at timestamptz,
            failed_at timestamptz, error_class text, error_code text)
          where jobs.id = new.id and jobs.id = any (written);
        locked := array(
          select jobs.id from json_to_recordset(ended) as new (id uuid) join emanet.jobs using (id) where worker = me
        );
      end if;
      if limits[1] > 0 then
        with due as materialized (
          select job.id from unnest(limits) with ordinality as level (most, priority) cross join lateral (
            select jobs.id from emanet.jobs
            where jobs.priority = level.priority and worker is null and failed_at is null
              and run_at <= clock_now and task = any (tasks)
              and (exclusive_key is null or not exists (
                select from emanet.jobs as other
                where other.exclusive_key = jobs.exclusive_key and other.worker is not null
              ) and not exists (
                select from emanet.jobs as other
                where other.exclusive_key = jobs.exclusive_key and other.worker is null and other.failed_at is null
                  and other.run_at <= clock_now and other.task = any (tasks)
                  and (other.priority, other.run_at, other.id) < (jobs.priority, jobs.run_at, jobs.id)
              ))
            order by run_at, id limit level.most for update skip locked
          ) as job limit limits[1]
        ), started as (
          update emanet.jobs set worker = me from due where jobs.id = due.id returning jobs.*
        )
        select json_agg(started order by priority, run_at, id) into taken from started;
      end if;
      return next;
    end
  $$;

-- When the first waiting job of these tasks is due; it may be in the past.
create function emanet.next_job_due(tasks text[]) returns timestamptz
  language sql
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
    select min(first.run_at) from unnest('{1,2,3}'::smallint[]) as level (priority) cross join lateral (
      select run_at from emanet.jobs
      where jobs.priority = level.priority and worker is null and failed_at is null and task = any (tasks)
      order by run_at limit 1
    ) as first
  $$;

-- Stores what running jobs reported. A row that is locked, by a transaction that cancels the job, is left out.
create function emanet.save_job_progress(me integer, items json) returns void
  language sql
  set search_path = pg_catalog, pg_temp
  as $$
    with mine as (
      select jobs.id, new.progress from json_to_recordset(items) as new (id uuid, progress json) join emanet.jobs using (id)
      where worker = me for update of jobs skip locked
    )
    update emanet.jobs set progress = mine.progress from mine where jobs.id = mine.id
  $$;

-- A worker has a new session: its jobs except "kept" are given back. Returns which of these are still its own. Makes sure
-- that the recurring jobs exist and run no later than their schedule says, and tells the other workers of this one.
create function emanet.enter_job_worker(me integer, kept uuid[], recurring json, clock_now timestamptz)
  returns table (job_id uuid, is_canceled boolean)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      update emanet.jobs set worker = null where worker = me and id <> all (kept);
      insert into emanet.jobs (id, task, key, payload, priority, run_at, created_at)
        select id, task, '@recurring', '{}', priority, run_at, clock_now
        from json_to_recordset(recurring) as new (id uuid, task text, priority smallint, run_at timestamptz)
        on conflict (task, key) where key is not null and failed_at is null
        do update set run_at = least(jobs.run_at, excluded.run_at) where jobs.worker is null and jobs.attempt = 1;
      perform pg_notify('emanet_jobs', 'worker');
      return query select id, canceled from emanet.jobs where worker = me;
    end
  $$;

-- Whether other workers are alive, and which dead ones have jobs.
create function emanet.other_job_workers(me integer) returns table (alive boolean, dead integer[])
  language sql
  set search_path = pg_catalog, pg_temp
  as $$
    with holders as (
      select objid::bigint::integer as worker from pg_locks
      where locktype = 'advisory' and classid::bigint = 1785684595 and objsubid = 2
        and database = (select oid from pg_database where datname = current_database())
    )
    select exists (select from holders where worker <> me),
      array(select worker from emanet.jobs where worker is not null except select worker from holders)
  $$;

-- Takes back the jobs of a dead worker, if its lock is still free. Returns their number.
create function emanet.recover_jobs(dead_worker integer) returns integer
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      recovered integer := 0;
    begin
      if pg_try_advisory_xact_lock(1785684595, dead_worker) then
        update emanet.jobs set worker = null, progress = null, crashes = crashes + 1 where worker = dead_worker;
        get diagnostics recovered = row_count;
      end if;
      return recovered;
    end
  $$;

-- Removes payloads of jobs that failed before one moment, and the jobs that failed before another.
create function emanet.purge_failed_jobs(payloads_before timestamptz, jobs_before timestamptz) returns integer
  language sql
  set search_path = pg_catalog, pg_temp
  as $$
    with deleted as (delete from emanet.jobs where failed_at <= jobs_before returning id),
    cleared as (
      update emanet.jobs set payload = null
      where failed_at <= payloads_before and failed_at > jobs_before and payload is not null returning id
    )
    select count(*)::integer from (select id from deleted union all select id from cleared) as purged
  $$;

-- The queue as staff see it: without payloads and keys, which can hold personal data.
create function emanet.list_jobs(
  wanted_task text, wanted_state text, after_created timestamptz, after_id uuid, most integer, clock_now timestamptz
) returns table (
  id uuid, task text, state text, attempt integer, crashes integer,
  run_at timestamptz, created_at timestamptz, failed_at timestamptz, error_class text, error_code text
)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      if current_setting('emanet.scope', true) is distinct from 'staff' then
        raise insufficient_privilege using message = 'jobs are shown to staff';
      end if;
      return query
        select jobs.id, jobs.task, shown.state, jobs.attempt, jobs.crashes,
               jobs.run_at, jobs.created_at, jobs.failed_at, jobs.error_class, jobs.error_code
        from emanet.jobs as jobs cross join lateral emanet.job_state(jobs, clock_now) as shown(state)
        where (wanted_task is null or jobs.task = wanted_task)
          and (wanted_state is null or shown.state = wanted_state)
          and (after_created is null or (jobs.created_at, jobs.id) < (after_created, after_id))
        order by jobs.created_at desc, jobs.id desc
        limit most;
    end
  $$;

-- Of the owner alone, except those that the application role calls.
revoke all on function
  emanet.job_state(emanet.jobs, timestamptz),
  emanet.enqueue_job(uuid, text, json, text, text, integer, timestamptz, timestamptz),
  emanet.cancel_job(uuid),
  emanet.job_status(uuid, timestamptz),
  emanet.list_jobs(text, text, timestamptz, uuid, integer, timestamptz),
  emanet.job_turn(integer, json, integer[], timestamptz, text[]),
  emanet.next_job_due(text[]),
  emanet.save_job_progress(integer, json),
  emanet.enter_job_worker(integer, uuid[], json, timestamptz),
  emanet.other_job_workers(integer),
  emanet.recover_jobs(integer),
  emanet.purge_failed_jobs(timestamptz, timestamptz)
  from public;
grant execute on function emanet.enqueue_job(uuid, text, json, text, text, integer, timestamptz, timestamptz) to emanet_app;
grant execute on function emanet.cancel_job(uuid) to emanet_app;
grant execute on function emanet.job_status(uuid, timestamptz) to emanet_app;
grant execute on function emanet.list_jobs(text, text, timestamptz, uuid, integer, timestamptz) to emanet_app;
