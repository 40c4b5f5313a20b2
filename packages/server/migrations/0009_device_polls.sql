-- How often a device asks whether its person has decided (RFC 8628, section 3.5): when it last asked, and how many seconds
-- it has to leave between two questions, more each time it asks too soon.

alter table emanet.oauth_artifacts
  add column polled_at timestamptz,
  add column poll_interval_s integer check (poll_interval_s between 1 and 3600);
