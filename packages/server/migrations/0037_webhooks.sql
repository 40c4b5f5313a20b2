-- Webhooks: an account's own addresses that events are sent to.
--
-- A delivery is one event for one webhook. Its states:
--   pending    not sent yet, or sent and not answered             -> delivered | retrying | failed
--   retrying   an attempt failed; next_attempt_at is the next     -> delivered | failed
--   delivered  answered with 2xx
--   failed     the last attempt of the schedule failed, or it cannot be sent
-- due_at says when a worker sends it; null: nothing is to be sent. First attempts are sent in the order of "place".
--
-- The queue of a webhook is one row: when something of it is due, and which worker has it. A worker has a webhook until
-- leased_until by the database's clock, so that a dead worker's webhooks are free again although the application's clock can be
-- moved by tests.

create table emanet.webhooks (
  id uuid primary key,
  account_id uuid not null references emanet.accounts (id),
  url text not null check (length(url) between 1 and 2048),
  -- Names of event types; '*' stands for all.
  events text[] not null check (cardinality(events) between 1 and 200),
  description text check (length(description) between 1 and 200),
  -- Only events of these vaults; null: of all, and events without a vault.
  vault_ids uuid[],
  state text not null default 'enabled' check (state in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('requested', 'delivery_failed', 'gone', 'creator_lost_access')),
  disabled_at timestamptz,
  -- In whose name events are sent: who made it or enabled it last. A client that acts for a member has both.
  member_id uuid,
  client_id uuid,
  -- Since the first failure after the last success; and when people were mailed about it.
  failing_since timestamptz,
  warned_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null default 1,
  -- Its rows are removed by a job; nobody sees it any more.
  removed_at timestamptz,
  check ((state = 'disabled') = (disabled_reason is not null)),
  check ((state = 'disabled') = (disabled_at is not null)),
  check (member_id is not null or client_id is not null)
);

create index webhooks_account on emanet.webhooks (account_id, created_at, id) where removed_at is null;
create index webhooks_created_at on emanet.webhooks (created_at, id);
create index webhooks_removed on emanet.webhooks (removed_at) where removed_at is not null;

create table emanet.webhook_secrets (
  webhook_id uuid not null references emanet.webhooks (id) on delete cascade,
  number integer not null,
  account_id uuid not null,
  sealed bytea not null,
  created_at timestamptz not null,
  -- Null for the newest.
  expires_at timestamptz,
  primary key (webhook_id, number)
);

create table emanet.webhook_queues (
  webhook_id uuid primary key references emanet.webhooks (id) on delete cascade,
  account_id uuid not null,
  due_at timestamptz,
  worker uuid,
  leased_until timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create index webhook_queues_due on emanet.webhook_queues (due_at) where due_at is not null;

create table emanet.webhook_deliveries (
  id uuid primary key,
  account_id uuid not null,
  webhook_id uuid not null references emanet.webhooks (id),
  event_id uuid not null,
  sequence bigint not null,
  event_type text not null,
  kind text not null check (kind in ('event', 'test', 'replay')),
  place bigint not null generated always as identity,
  state text not null default 'pending' check (state in ('pending', 'retrying', 'delivered', 'failed')),
  -- Attempts of the schedule. One that a person asked for is beside it.
  attempt_count smallint not null default 0,
  -- The newest twenty: number, is_manual, at, status, error, duration_ms.
  attempts jsonb not null default '[]',
  is_manual boolean not null default false,
  due_at timestamptz,
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  created_at timestamptz not null,
  check ((state in ('pending', 'retrying')) = (next_attempt_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index webhook_deliveries_list on emanet.webhook_deliveries (webhook_id, created_at, id);
create index webhook_deliveries_first on emanet.webhook_deliveries (webhook_id, place)
  where due_at is not null and attempt_count = 0 and not is_manual;
create index webhook_deliveries_later on emanet.webhook_deliveries (webhook_id, due_at)
  where due_at is not null and (attempt_count > 0 or is_manual);
create index webhook_deliveries_open on emanet.webhook_deliveries (webhook_id, state)
  where state in ('retrying', 'failed');
create index webhook_deliveries_created_at on emanet.webhook_deliveries (created_at, id);

-- Attempts per hour, for the figures of a webhook. "durations" counts them by class: class n is up to 1.1^n milliseconds.
create table emanet.webhook_hours (
  webhook_id uuid not null references emanet.webhooks (id) on delete cascade,
  account_id uuid not null,
  hour timestamptz not null,
  delivered integer not null,
  failed integer not null,
  durations integer[] not null,
  primary key (webhook_id, hour)
);

-- Makes the deliveries of a new event, in the commit of the event: the head of the account's stream is locked, so the places
-- of a webhook's deliveries are in the order of the stream. The row of the queue is locked in any case: a worker that
-- is about to find nothing more to do waits for this commit, or this commit for it.
create function emanet.queue_deliveries() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      made uuid[];
    begin
      with wanted as (
        select id from emanet.webhooks
        where account_id = new.account_id and removed_at is null and state = 'enabled' and case
          when new.type = 'webhook.test' then id = (new.payload::json ->> 'webhook_id')::uuid
          else events && array['*', new.type] and (vault_ids is null or new.vault_id = any (vault_ids))
        end
        order by id
      ), inserted as (
        insert into emanet.webhook_deliveries
          (id, account_id, webhook_id, event_id, sequence, event_type, kind, due_at, next_attempt_at, created_at)
        select emanet.uuid_at(new.created_at), new.account_id, wanted.id, new.id, new.sequence, new.type,
          case new.type when 'webhook.test' then 'test' else 'event' end, new.created_at, new.created_at, new.created_at
        from wanted
        returning webhook_id
      )
      select array_agg(webhook_id) into made from inserted;
      if made is null then
        return null;
      end if;
      perform from emanet.webhook_queues where webhook_id = any (made) order by webhook_id for no key update;
      update emanet.webhook_queues set due_at = new.created_at
        where webhook_id = any (made) and (due_at is null or due_at > new.created_at);
      -- For this process alone; others look a few times a second (decision 0580).
      perform set_config('emanet.changed',
        coalesce(current_setting('emanet.changed', true), '') || 'delivery ' || new.account_id || chr(10), true);
      return null;
    end
  $$;

create trigger events_queue_deliveries after insert on emanet.events
  for each row execute function emanet.queue_deliveries();

-- A worker gives webhooks back. Locks first, then looks what is left: each statement sees all commits before it. Rows that
-- another transaction has locked are left out; returns those that were given back.
create function emanet.release_webhooks(me uuid, ids uuid[], clock_now timestamptz) returns uuid[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      mine uuid[];
    begin
      mine := array(
        select webhook_id from emanet.webhook_queues where webhook_id = any (ids) and worker = me
        for no key update skip locked
      );
      update emanet.webhook_queues as queue set worker = null, leased_until = null, due_at = case
        when exists (select from emanet.webhooks where webhooks.id = queue.webhook_id and state = 'disabled') then null
        when exists (
          select from emanet.webhook_deliveries as d
          where d.webhook_id = queue.webhook_id and d.due_at is not null and d.attempt_count = 0 and not d.is_manual
        ) then clock_now
        else (
          select d.due_at from emanet.webhook_deliveries as d
          where d.webhook_id = queue.webhook_id and d.due_at is not null and (d.attempt_count > 0 or d.is_manual)
          order by d.due_at limit 1
        )
      end
      where webhook_id = any (mine);
      return mine;
    end
  $$;

alter table emanet.webhooks enable row level security;
alter table emanet.webhooks force row level security;
create policy tenancy on emanet.webhooks using (emanet.in_scope(account_id));
alter table emanet.webhook_secrets enable row level security;
alter table emanet.webhook_secrets force row level security;
create policy tenancy on emanet.webhook_secrets using (emanet.in_scope(account_id));
alter table emanet.webhook_queues enable row level security;
alter table emanet.webhook_queues force row level security;
create policy tenancy on emanet.webhook_queues using (emanet.in_scope(account_id));
alter table emanet.webhook_deliveries enable row level security;
alter table emanet.webhook_deliveries force row level security;
create policy tenancy on emanet.webhook_deliveries using (emanet.in_scope(account_id));
alter table emanet.webhook_hours enable row level security;
alter table emanet.webhook_hours force row level security;
create policy tenancy on emanet.webhook_hours using (emanet.in_scope(account_id));

grant select, insert, update, delete on emanet.webhooks, emanet.webhook_secrets, emanet.webhook_queues,
  emanet.webhook_deliveries, emanet.webhook_hours to emanet_app;
