-- A worker asks for less: one call writes outcomes and progress, takes jobs and says when the next one is due; one call
-- looks after other workers. The states of a job are in migration 0014.

drop function emanet.job_turn(integer, json, integer[], timestamptz, text[]);
drop function emanet.next_job_due(text[]);
drop function emanet.save_job_progress(integer, json);
drop function emanet.enter_job_worker(integer, uuid[], json, timestamptz);
drop function emanet.other_job_workers(integer);
drop function emanet.recover_jobs(integer);

-- One turn of a worker, which calls it in a session that holds its lock, in one commit:
-- 1. Ended jobs: those in "kept" get new columns, the others and canceled ones are deleted. It waits for no row lock: a job
--    whose row is locked, by a transaction that cancels it, is returned in "locked" and written by a later turn.
-- 2. "progress" has what running jobs reported.
-- 3. Due jobs are taken, at most "free". At most "low" jobs of priority 3 run in one worker, so that long upkeep leaves
--    slots for others. Of the jobs with one exclusive key only the first is taken, and none while one runs; the unique
--    index refuses the turn if another worker takes one at the same moment.
-- 4. "due" is when the first job that still waits is due; it may be in the past. Null: there is none, or all slots are used.
-- Indexes serve every statement, and a plan that was made while the table was empty must not read all of it later.
create function emanet.job_turn(
  me integer, ended uuid[], kept json, progress json, free integer, low integer, clock_now timestamptz, tasks text[]
) returns table (written uuid[], locked uuid[], taken json, due timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
  as $$
    #variable_conflict use_column
    begin
      if cardinality(ended) > 0 then
        written := array(select id from emanet.jobs where id = any (ended) and worker = me for update skip locked);
        if json_array_length(kept) > 0 then
          update emanet.jobs
            set worker = null, progress = null, attempt = new.attempt, crashes = new.crashes, run_at = new.run_at,
                failed_at = new.failed_at, error_class = new.error_class, error_code = new.error_code
            from json_to_recordset(kept) as new (id uuid, attempt integer, crashes integer, run_at timestamptz,
              failed_at timestamptz, error_class text, error_code text)
            where jobs.id = new.id and jobs.id = any (written) and not canceled;
        end if;
        delete from emanet.jobs where id = any (written) and worker = me;
        if cardinality(written) < cardinality(ended) then
          locked := array(select id from emanet.jobs where id = any (ended) and worker = me);
        end if;
      end if;
      if json_array_length(job_turn.progress) > 0 then
        with mine as (
          select jobs.id, new.progress
          from json_to_recordset(job_turn.progress) as new (id uuid, progress json) join emanet.jobs using (id)
          where worker = me for update of jobs skip locked
        )
        update emanet.jobs set progress = mine.progress from mine where jobs.id = mine.id;
      end if;
      if free > 0 then
        low := least(free, low - (select count(*) from emanet.jobs where worker = me and priority = 3));
        with first as materialized (
          select job.id from unnest(array[free, free, greatest(0, low)]) with ordinality as level (most, priority) cross join lateral (
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
          ) as job limit free
        ), started as (
          update emanet.jobs set worker = me from first where jobs.id = first.id returning jobs.*
        )
        select json_agg(started order by priority, run_at, id) into taken from started;
        if taken is null or json_array_length(taken) < free then
          due := (
            select min(next.run_at) from unnest('{1,2,3}'::smallint[]) as level (priority) cross join lateral (
              select run_at from emanet.jobs
              where jobs.priority = level.priority and worker is null and failed_at is null and task = any (tasks)
              order by run_at limit 1
            ) as next
          );
        end if;
      end if;
      return next;
    end
  $$;

-- A worker has a new session, which takes the worker's lock. Its jobs except "kept" are given back. Returns which of these
-- are still its own. Makes sure that the recurring jobs exist and run no later than their schedule says, and tells the
-- other workers of this one.
create function emanet.enter_job_worker(me integer, kept uuid[], recurring json, clock_now timestamptz)
  returns table (job_id uuid, is_canceled boolean)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      if not pg_try_advisory_lock(1785684595, me) then
        raise lock_not_available using message = 'the last session of the worker has not ended yet';
      end if;
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

-- Takes back the jobs of the workers "lost", if their locks are free. Says how many jobs these were, whether other workers
-- are alive, and which dead ones have jobs.
create function emanet.check_job_workers(me integer, lost integer[])
  returns table (recovered integer, alive boolean, dead integer[])
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      update emanet.jobs set worker = null, progress = null, crashes = crashes + 1
        where worker = any (array(select number from unnest(lost) as number
          where pg_try_advisory_xact_lock(1785684595, number)));
      get diagnostics recovered = row_count;
      with holders as (
        select objid::bigint::integer as worker from pg_locks
        where locktype = 'advisory' and classid::bigint = 1785684595 and objsubid = 2 and pid <> pg_backend_pid()
          and database = (select oid from pg_database where datname = current_database())
      )
      select exists (select from holders),
        array(select worker from emanet.jobs where worker <> me except select worker from holders) into alive, dead;
      return next;
    end
  $$;

-- Of the owner alone.
revoke all on function
  emanet.job_turn(integer, uuid[], json, json, integer, integer, timestamptz, text[]),
  emanet.enter_job_worker(integer, uuid[], json, timestamptz),
  emanet.check_job_workers(integer, integer[])
  from public;
