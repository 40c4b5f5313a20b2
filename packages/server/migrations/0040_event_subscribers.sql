-- An event costs an account without webhooks nothing more than its own row. The head of a stream, which every event locks and
-- writes in any case, says whether the account has webhooks; only then the statement that appends events (kernel/events.ts) calls
-- emanet.queue_deliveries, once for all events of a commit.

alter table emanet.event_heads add column has_subscribers boolean not null default false;

select set_config('emanet.scope', 'system', true);
insert into emanet.event_heads (account_id, sequence, has_subscribers)
  select distinct account_id, 0, true from emanet.webhooks where removed_at is null
  on conflict (account_id) do update set has_subscribers = true;
select set_config('emanet.scope', '', true);

-- Takes the account's turn first, then looks: an event that is being appended is before the change or after it.
create function emanet.note_subscribers() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    begin
      -- As kernel/events.ts takes it.
      perform pg_advisory_xact_lock(uuid_hash_extended(new.account_id, 0));
      insert into emanet.event_heads (account_id, sequence) values (new.account_id, 0)
        on conflict (account_id) do update set has_subscribers = event_heads.has_subscribers;
      update emanet.event_heads set has_subscribers = exists (
        select from emanet.webhooks where account_id = new.account_id and removed_at is null
      ) where account_id = new.account_id;
      return null;
    end
  $$;

create trigger webhooks_note_subscribers after insert or update of removed_at on emanet.webhooks
  for each row execute function emanet.note_subscribers();

drop trigger events_queue_deliveries on emanet.events;
drop function emanet.queue_deliveries();

-- Makes the deliveries of new events of an account, in their commit: the head of the account's stream is locked, so the places
-- of a webhook's deliveries are in the order of the stream. The row of the queue is locked in any case: a worker that
-- is about to find nothing more to do waits for this commit, or this commit for it.
create function emanet.queue_deliveries(account uuid, first_sequence bigint, last_sequence bigint) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      made uuid[];
      due timestamptz;
    begin
      with inserted as (
        insert into emanet.webhook_deliveries
          (id, account_id, webhook_id, event_id, sequence, event_type, kind, due_at, next_attempt_at, created_at)
        select emanet.uuid_at(events.created_at), account, webhooks.id, events.id, events.sequence, events.type,
          case events.type when 'webhook.test' then 'test' else 'event' end,
          events.created_at, events.created_at, events.created_at
        from emanet.events join emanet.webhooks on webhooks.account_id = events.account_id
        where events.account_id = account and events.sequence between first_sequence and last_sequence
          and webhooks.removed_at is null and webhooks.state = 'enabled' and case
            when events.type = 'webhook.test' then webhooks.id = (events.payload::json ->> 'webhook_id')::uuid
            else webhooks.events && array['*', events.type]
              and (webhooks.vault_ids is null or events.vault_id = any (webhooks.vault_ids))
          end
        order by events.sequence, webhooks.id
        returning webhook_id, created_at
      )
      select array_agg(distinct webhook_id), min(created_at) into made, due from inserted;
      if made is null then
        return;
      end if;
      perform from emanet.webhook_queues where webhook_id = any (made) order by webhook_id for no key update;
      update emanet.webhook_queues set due_at = due
        where webhook_id = any (made) and (due_at is null or due_at > due);
    end
  $$;

-- When workers of other processes were told last that there is something to send. PostgreSQL makes commits that notify wait for each
-- other, so not every event notifies: a worker that was told looks often for a while (webhooks/delivery-worker.ts).
create table emanet.webhook_wakeups (
  id integer primary key check (id = 1),
  notified_at timestamptz not null
);

insert into emanet.webhook_wakeups values (1, 'epoch');

-- Of no account: every transaction that has access to any row may use it.
alter table emanet.webhook_wakeups enable row level security;
alter table emanet.webhook_wakeups force row level security;
create policy tenancy on emanet.webhook_wakeups
  using (emanet.in_scope(nullif(current_setting('emanet.account_id', true), '')::uuid));
grant select, update on emanet.webhook_wakeups to emanet_app;

-- A webhook that had nothing to send, or later, has something now.
create function emanet.wake_workers() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
    declare
      notice text := 'delivery ' || new.account_id || chr(10);
      known text := coalesce(current_setting('emanet.changed', true), '');
    begin
      if position(notice in known) > 0 then
        return null;
      end if;
      -- For the worker of this process.
      perform set_config('emanet.changed', known || notice, true);
      perform from emanet.webhook_wakeups where notified_at < clock_timestamp() - interval '1 second' for update skip locked;
      if found then
        update emanet.webhook_wakeups set notified_at = clock_timestamp();
        perform pg_notify('emanet_changes', 'delivery *');
      end if;
      return null;
    end
  $$;

create trigger webhook_queues_wake_workers after update of due_at on emanet.webhook_queues
  for each row when (new.due_at is not null and (old.due_at is null or new.due_at < old.due_at))
  execute function emanet.wake_workers();

-- Workers sleep until the next attempt is due by a clock that this row moves.
create trigger note_change after insert or update on emanet.sandbox_clock
  for each row execute function emanet.note_change('clock');
