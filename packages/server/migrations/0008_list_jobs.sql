-- The queue as staff see it. The application role has no right on emanet.jobs; this function is its window, open in
-- scope staff alone, and shows neither payloads nor keys: both may hold personal data.

create function emanet.list_jobs(
  wanted_task text, wanted_state text, after_created timestamptz, after_id uuid, most integer
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
        from emanet.jobs as jobs
        cross join lateral (select case when jobs.claimed_by is null then jobs.state else 'running' end as state) as shown
        where (wanted_task is null or jobs.task = wanted_task)
          and (wanted_state is null or shown.state = wanted_state)
          and (after_created is null or (jobs.created_at, jobs.id) < (after_created, after_id))
        order by jobs.created_at desc, jobs.id desc
        limit most;
    end
  $$;

revoke all on function emanet.list_jobs(text, text, timestamptz, uuid, integer) from public;
grant execute on function emanet.list_jobs(text, text, timestamptz, uuid, integer) to emanet_app;
