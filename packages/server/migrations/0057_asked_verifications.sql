-- The job of the verification that a person asked for. It is gone when the job is done.
alter table emanet.snapshots add column verify_job_id uuid;
