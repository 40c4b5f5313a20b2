/** All SQL of the workers that send: claims, batches, results. Row access `system`. */

import { sql } from "kysely";
import type { MemberRole } from "../kernel/principal.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { durationClasses } from "./schedule.ts";
import type { DeliveryRow, SealedSecret, WebhookRow } from "./store.ts";

/** How long a worker has a webhook without saying so again. It is renewed three times in it. */
export const leaseMs = 15_000;

/** Takes webhooks that have something to send, those that have waited longest first. */
export async function claimWebhooks(
  tx: Tx,
  me: string,
  { most, except }: { readonly most: number; readonly except: readonly string[] },
): Promise<readonly string[]> {
  const { rows } = await sql<{ webhook_id: string }>`
    with due as (
      select webhook_id from webhook_queues
      where due_at <= ${tx.now} and (leased_until is null or leased_until < clock_timestamp())
        and not webhook_id = any (${[...except]}::uuid[])
      order by due_at limit ${most} for no key update skip locked
    )
    update webhook_queues queue set worker = ${me}, leased_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    from due where queue.webhook_id = due.webhook_id
    returning queue.webhook_id`.execute(tx.db);
  return rows.map(({ webhook_id }) => webhook_id);
}

/** When the next webhook will have something to send; null: none has. What is due already is left out. */
export async function nextDueAt(tx: ReadTx): Promise<Date | null> {
  const { rows } = await sql<{ due_at: Date }>`
    select due_at from webhook_queues where due_at > ${tx.now} order by due_at limit 1`.execute(tx.db);
  return rows[0]?.due_at ?? null;
}

/** Keeps webhooks for another lease. Returns those that are still this worker's. */
export async function renewLeases(tx: Tx, me: string, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ webhook_id: string }>`
    with mine as (
      select webhook_id from webhook_queues where webhook_id = any (${[...ids]}::uuid[]) and worker = ${me}
      for no key update skip locked
    )
    update webhook_queues queue set leased_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    from mine where queue.webhook_id = mine.webhook_id and queue.leased_until > clock_timestamp()
    returning queue.webhook_id`.execute(tx.db);
  return rows.map(({ webhook_id }) => webhook_id);
}

/** A webhook with what decides whether it may send. */
export interface ClaimedWebhook
  extends Pick<
    WebhookRow,
    "id" | "account_id" | "url" | "state" | "vault_ids" | "member_id" | "client_id" | "removed_at"
  > {
  readonly early_access: boolean;
  readonly account_state: "active" | "suspended" | "closed";
  readonly member_role: MemberRole | null;
  readonly member_state: string | null;
  readonly client_role: MemberRole | null;
  readonly client_scopes: readonly string[] | null;
  readonly client_revoked: boolean | null;
  readonly client_vault_ids: readonly string[] | null;
  /** That sign now, the newest first. */
  readonly secrets: readonly SealedSecret[];
}

export async function loadWebhooks(tx: ReadTx, ids: readonly string[]): Promise<readonly ClaimedWebhook[]> {
  const { rows } = await sql<Omit<ClaimedWebhook, "secrets"> & { numbers: number[]; seals: string[] }>`
    select w.id, w.account_id, w.url, w.state, w.vault_ids, w.member_id, w.client_id, w.removed_at, a.early_access,
      a.state as account_state, p.role as member_role, p.state as member_state, c.role as client_role,
      c.scopes as client_scopes, c.revoked_at is not null as client_revoked, c.vault_ids as client_vault_ids,
      s.numbers, s.seals
    from webhooks w
      join accounts a on a.id = w.account_id
      left join people p on p.id = w.member_id
      left join oauth_clients c on c.id = w.client_id
      cross join lateral (
        select coalesce(array_agg(number order by number desc), '{}') as numbers,
          coalesce(array_agg(encode(sealed, 'base64') order by number desc), '{}') as seals
        from webhook_secrets where webhook_id = w.id and (expires_at is null or expires_at > ${tx.now})
      ) s
    where w.id = any (${[...ids]}::uuid[])`.execute(tx.db);
  return rows.map(({ numbers, seals, ...row }) => ({
    ...row,
    secrets: numbers.map((number, at) => ({ number, sealed: Buffer.from(seals[at] ?? "", "base64") })),
  }));
}

/** A delivery that is to be sent now. */
export type DueDelivery = Pick<
  DeliveryRow,
  "id" | "webhook_id" | "event_id" | "state" | "attempt_count" | "is_manual" | "next_attempt_at" | "created_at"
> & {
  /** Null: the event is not kept any more. */
  readonly payload: string | null;
};

/**
 * What is due of each webhook: so many first attempts, and others. In the order of their places, which only the last line promises: PostgreSQL
 * may join by hash, in parts. A payload is looked up by itself, because the number of rows is not known when the statement is planned.
 */
export async function loadDue(
  tx: ReadTx,
  webhooks: readonly { readonly id: string; readonly firsts: number }[],
  laters: number,
): Promise<readonly DueDelivery[]> {
  const ids = webhooks.map(({ id }) => id);
  const limits = webhooks.map(({ firsts }) => firsts);
  const columns = sql`d.id, d.webhook_id, d.event_id, d.state, d.attempt_count, d.is_manual, d.next_attempt_at, d.created_at,
    d.account_id, d.sequence, d.place`;
  const { rows } = await sql<DueDelivery>`
    select due.*, event.payload from unnest(${ids}::uuid[], ${limits}::integer[]) as wanted (id, firsts) cross join lateral (
      (select ${columns} from webhook_deliveries d
       where d.webhook_id = wanted.id and d.due_at is not null and d.attempt_count = 0 and not d.is_manual
       order by d.place limit wanted.firsts)
      union all
      (select ${columns} from webhook_deliveries d
       where d.webhook_id = wanted.id and d.due_at <= ${tx.now} and (d.attempt_count > 0 or d.is_manual)
       order by d.due_at limit ${laters})
    ) due left join lateral (
      select payload from events where account_id = due.account_id and sequence = due.sequence limit 1
    ) event on true
    order by due.place`.execute(tx.db);
  return rows;
}

/** What becomes of a delivery by an attempt. */
export interface AttemptResult {
  readonly id: string;
  /** The count before the attempt: a result of a worker that lost the webhook meanwhile changes nothing. */
  readonly seen_count: number;
  readonly attempt_count: number;
  readonly state: DeliveryRow["state"];
  readonly next_attempt_at: Date | null;
  readonly at: Date;
  readonly attempt: object;
}

/** Attempts that are kept of a delivery. */
const keptAttempts = 20;

export async function recordAttempts(tx: Tx, results: readonly AttemptResult[]): Promise<void> {
  if (results.length === 0) return;
  await sql`
    update webhook_deliveries d set
      attempts = case when jsonb_array_length(d.attempts) >= ${keptAttempts} then d.attempts - 0 else d.attempts end
        || jsonb_build_array(r.attempt),
      attempt_count = r.attempt_count, state = r.state, next_attempt_at = r.next_attempt_at, due_at = r.next_attempt_at,
      last_attempt_at = r.at, is_manual = false
    from json_to_recordset(${JSON.stringify(results)}::json) as r (id uuid, seen_count smallint, attempt_count smallint,
      state text, next_attempt_at timestamptz, at timestamptz, attempt jsonb)
    where d.id = r.id and d.attempt_count = r.seen_count`.execute(tx.db);
}

/** Attempts of one webhook in one hour. */
export interface HourCount {
  readonly webhook_id: string;
  readonly account_id: string;
  readonly hour: Date;
  delivered: number;
  failed: number;
  readonly durations: number[];
}

export const emptyDurations = (): number[] => Array.from({ length: durationClasses }, () => 0);

export async function addHours(tx: Tx, hours: readonly HourCount[]): Promise<void> {
  if (hours.length === 0) return;
  const items = hours.map((hour) => ({ ...hour, durations: `{${hour.durations.join(",")}}` }));
  await sql`
    insert into webhook_hours as h (webhook_id, account_id, hour, delivered, failed, durations)
    select r.webhook_id, r.account_id, r.hour, r.delivered, r.failed, r.durations::integer[]
    from json_to_recordset(${JSON.stringify(items)}::json)
      as r (webhook_id uuid, account_id uuid, hour timestamptz, delivered integer, failed integer, durations text)
      join webhooks on webhooks.id = r.webhook_id
    on conflict (webhook_id, hour) do update set delivered = h.delivered + excluded.delivered,
      failed = h.failed + excluded.failed,
      durations = (select array_agg(a + b order by n)
        from unnest(h.durations, excluded.durations) with ordinality as u (a, b, n))`.execute(tx.db);
}

/** Requests that change several deliveries of a webhook have it locked: the order of locks is the same for all. */
export async function lockWebhooks(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`select from webhooks where id = any (${[...ids]}::uuid[]) order by id for no key update`.execute(tx.db);
}

/** Notes which webhooks answer well and which do not. */
export async function noteHealth(tx: Tx, sound: readonly string[], failing: readonly string[]): Promise<void> {
  if (sound.length > 0) {
    await sql`update webhooks set failing_since = null, warned_at = null
      where id = any (${[...sound]}::uuid[]) and failing_since is not null`.execute(tx.db);
  }
  if (failing.length > 0) {
    await sql`update webhooks set failing_since = ${tx.now}
      where id = any (${[...failing]}::uuid[]) and failing_since is null`.execute(tx.db);
  }
}

export type NoticedWebhook = Pick<WebhookRow, "id" | "account_id" | "url" | "description" | "member_id">;

const noticed = sql`id, account_id, url, description, member_id`;

/** Returns those whose people were not warned yet in this run of failures. */
export async function warnOnce(tx: Tx, ids: readonly string[]): Promise<readonly NoticedWebhook[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<NoticedWebhook>`
    update webhooks set warned_at = ${tx.now} where id = any (${[...ids]}::uuid[]) and warned_at is null
    returning ${noticed}`.execute(tx.db);
  return rows;
}

/** Disables webhooks that are enabled. Returns them. */
export async function disableWebhooks(
  tx: Tx,
  ids: readonly string[],
  reason: NonNullable<WebhookRow["disabled_reason"]>,
): Promise<readonly NoticedWebhook[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<NoticedWebhook>`
    update webhooks set state = 'disabled', disabled_reason = ${reason}, disabled_at = ${tx.now}, updated_at = ${tx.now},
      version = version + 1
    where id = any (${[...ids]}::uuid[]) and state = 'enabled' and removed_at is null
    returning ${noticed}`.execute(tx.db);
  return rows;
}

/** Gives webhooks back. Returns those that were given back; the others are locked by another transaction at this moment. */
export async function releaseWebhooks(tx: Tx, me: string, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ released: string[] }>`
    select emanet.release_webhooks(${me}::uuid, ${[...ids]}::uuid[], ${tx.now}::timestamptz) as released`.execute(
    tx.db,
  );
  return rows[0]?.released ?? [];
}

/** Gives webhooks back that may not send now, to be looked at again later. */
export async function postponeWebhooks(tx: Tx, me: string, ids: readonly string[], until: Date): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    update webhook_queues set worker = null, leased_until = null, due_at = ${until}
    where webhook_id = any (${[...ids]}::uuid[]) and worker = ${me}`.execute(tx.db);
}

/** Deliveries of before this time, and of webhooks that were removed. Returns how many are gone. */
export async function removeDeliveries(tx: Tx, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where id in (
      (select id from webhook_deliveries where created_at < ${before} limit ${limit})
      union all
      (select d.id from webhooks w join webhook_deliveries d on d.webhook_id = w.id where w.removed_at is not null limit ${limit})
      limit ${limit}
    )`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}

/** Removed webhooks without deliveries, and figures that nobody is shown any more. */
export async function removeWebhooks(tx: Tx, hoursBefore: Date): Promise<void> {
  await sql`delete from webhook_hours where hour < ${hoursBefore}`.execute(tx.db);
  await sql`
    delete from webhooks where removed_at is not null
      and not exists (select from webhook_deliveries where webhook_id = webhooks.id)`.execute(tx.db);
}
