/** All SQL of webhooks and their deliveries that requests use. What workers use is in `delivery-store.ts`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { WebhookDeliveriesRow, WebhooksRow } from "../kernel/database/rows.generated.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { isUuid } from "../kernel/uuid.ts";
import { lastAttemptAt, medianOf } from "./schedule.ts";

export type WebhookRow = Selectable<WebhooksRow>;
export type DeliveryRow = Selectable<WebhookDeliveriesRow>;

function webhooks(tx: ReadTx, accountId: string) {
  return tx.db.selectFrom("webhooks").selectAll().where("account_id", "=", accountId).where("removed_at", "is", null);
}

export async function findWebhook(tx: ReadTx, accountId: string, id: string): Promise<WebhookRow | undefined> {
  return webhooks(tx, accountId).where("id", "=", id).executeTakeFirst();
}

export async function lockWebhook(tx: Tx, accountId: string, id: string): Promise<WebhookRow | undefined> {
  return webhooks(tx, accountId).where("id", "=", id).forNoKeyUpdate().executeTakeFirst();
}

/** A page; with `vaultIds` only those that send events of these vaults alone. */
export async function listWebhooks(
  tx: ReadTx,
  accountId: string,
  vaultIds: readonly string[] | null,
  page: PageStart,
): Promise<WebhookRow[]> {
  const all = webhooks(tx, accountId);
  const seen =
    vaultIds === null
      ? all
      : all.where("vault_ids", "is not", null).where(sql<boolean>`vault_ids <@ ${[...vaultIds]}::uuid[]`);
  return pageRows(seen, page);
}

/** How many the account has. No other transaction adds one until this one ends. */
export async function countAndLockWebhooks(tx: Tx, accountId: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks ${accountId}`}, 0))`.execute(tx.db);
  const row = await tx.db
    .selectFrom("webhooks")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("removed_at", "is", null)
    .executeTakeFirstOrThrow();
  return row.count;
}

export type NewWebhook = Pick<
  WebhookRow,
  "id" | "account_id" | "url" | "events" | "description" | "member_id" | "client_id"
> & {
  readonly vault_ids: readonly string[] | null;
};

export async function insertWebhook(tx: Tx, row: NewWebhook): Promise<void> {
  const vault_ids = row.vault_ids === null ? null : [...row.vault_ids];
  await tx.db
    .insertInto("webhooks")
    .values({ ...row, vault_ids, created_at: tx.now, updated_at: tx.now })
    .execute();
  await tx.db.insertInto("webhook_queues").values({ webhook_id: row.id, account_id: row.account_id }).execute();
}

export type WebhookChange = Partial<
  Pick<
    WebhookRow,
    | ("url" | "events" | "description" | "member_id" | "client_id" | "removed_at" | "failing_since" | "warned_at")
    | ("state" | "disabled_reason" | "disabled_at")
  >
>;

export async function updateWebhook(tx: Tx, id: string, change: WebhookChange): Promise<void> {
  await tx.db
    .updateTable("webhooks")
    .set({ ...change, updated_at: tx.now, version: sql`version + 1` })
    .where("id", "=", id)
    .execute();
}

/** Something of the webhook is to be sent now; null: nothing. */
export async function setDue(tx: Tx, webhookId: string, dueAt: Date | null): Promise<void> {
  await tx.db.updateTable("webhook_queues").set({ due_at: dueAt }).where("webhook_id", "=", webhookId).execute();
}

/** As many as the contract's longest grace allows to follow each other; older ones end at once. */
const maxLiveSecrets = 3;

/** The seal binds a secret to its webhook and number. */
const contextOf = (webhookId: string, number: number) => Buffer.from(`${webhookId} ${number}`);

/** Adds a secret. The ones before it end at this time, and the oldest beyond {@link maxLiveSecrets} now. */
export async function addSecret(
  tx: Tx,
  secrets: Secrets,
  webhook: Pick<WebhookRow, "id" | "account_id">,
  secret: string,
  endsAt: Date,
): Promise<void> {
  const { id, account_id } = webhook;
  const { rows } = await sql<{ last: number | null }>`
    select max(number) as last from webhook_secrets where webhook_id = ${id}`.execute(tx.db);
  const number = (rows[0]?.last ?? 0) + 1;
  await sql`
    update webhook_secrets set expires_at = case
      when number <= ${number - maxLiveSecrets} then least(expires_at, ${tx.now}) else least(expires_at, ${endsAt}) end
    where webhook_id = ${id}`.execute(tx.db);
  await tx.db
    .insertInto("webhook_secrets")
    .values({
      ...{ webhook_id: id, number, account_id, created_at: tx.now },
      sealed: secrets.seal("webhook-secret", Buffer.from(secret), contextOf(id, number)),
    })
    .execute();
  await tx.db.deleteFrom("webhook_secrets").where("webhook_id", "=", id).where("expires_at", "<=", tx.now).execute();
}

export interface SealedSecret {
  readonly number: number;
  readonly sealed: Buffer;
}

/** The secrets that sign now, the newest first. */
export async function liveSecrets(tx: ReadTx, webhookId: string): Promise<SealedSecret[]> {
  return tx.db
    .selectFrom("webhook_secrets")
    .select(["number", "sealed"])
    .where("webhook_id", "=", webhookId)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", tx.now)]))
    .orderBy("number", "desc")
    .execute();
}

export function openSecret(secrets: Secrets, webhookId: string, { number, sealed }: SealedSecret): string {
  return secrets.unseal("webhook-secret", sealed, contextOf(webhookId, number)).toString();
}

interface DeliveryFilter {
  readonly states?: readonly DeliveryRow["state"][];
  readonly event?: string | undefined;
  readonly eventId?: string | undefined;
}

export async function listDeliveries(
  tx: ReadTx,
  webhookId: string,
  filter: DeliveryFilter,
  page: PageStart,
): Promise<DeliveryRow[]> {
  let select = tx.db.selectFrom("webhook_deliveries").selectAll().where("webhook_id", "=", webhookId);
  if (filter.states !== undefined) select = select.where("state", "in", filter.states);
  if (filter.event !== undefined) select = select.where("event_type", "=", filter.event);
  if (filter.eventId !== undefined) select = select.where("event_id", "=", filter.eventId);
  return pageRows(select, page);
}

function delivery(tx: ReadTx, accountId: string, id: string) {
  return tx.db.selectFrom("webhook_deliveries").selectAll().where("account_id", "=", accountId).where("id", "=", id);
}

export async function findDelivery(tx: ReadTx, accountId: string, id: string): Promise<DeliveryRow | undefined> {
  return delivery(tx, accountId, id).executeTakeFirst();
}

export async function lockDelivery(tx: Tx, accountId: string, id: string): Promise<DeliveryRow | undefined> {
  return delivery(tx, accountId, id).forNoKeyUpdate().executeTakeFirst();
}

/** The body of a delivery; undefined when the event is not kept any more. */
export async function findPayload(tx: ReadTx, row: DeliveryRow): Promise<string | undefined> {
  const event = await tx.db
    .selectFrom("events")
    .select("payload")
    .where("account_id", "=", row.account_id)
    .where("sequence", "=", row.sequence)
    .executeTakeFirst();
  return event?.payload;
}

/** What was sent of an event to this webhook; null when it was not, or is not kept any more. */
export async function findSentEvent(tx: ReadTx, webhookId: string, eventId: string) {
  if (!isUuid(eventId)) return null;
  const event = await tx.db
    .selectFrom("events")
    .innerJoin("webhooks", "webhooks.account_id", "events.account_id")
    .select("events.payload")
    .where("webhooks.id", "=", webhookId)
    .where("events.id", "=", eventId)
    .where(sql<boolean>`(webhooks.vault_ids is null or events.vault_id = any (webhooks.vault_ids))`)
    .executeTakeFirst();
  return event === undefined ? null : { eventId, body: Buffer.from(event.payload) };
}

/** An attempt beside the schedule, now. A delivery that was not sent yet is sent by its schedule. */
export async function askForAttempt(tx: Tx, id: string): Promise<void> {
  await tx.db
    .updateTable("webhook_deliveries")
    .set({ is_manual: true, due_at: tx.now })
    .where("id", "=", id)
    .where("state", "<>", "pending")
    .execute();
}

/** The same for all that were not delivered. Returns their number. */
export async function askForFailed(tx: Tx, webhookId: string): Promise<number> {
  const { numUpdatedRows } = await tx.db
    .updateTable("webhook_deliveries")
    .set({ is_manual: true, due_at: tx.now })
    .where("webhook_id", "=", webhookId)
    .where("state", "in", ["retrying", "failed"])
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** How many first attempts of the webhook wait, counted up to `most`. */
export async function countWaiting(tx: ReadTx, webhookId: string, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from webhook_deliveries
      where webhook_id = ${webhookId} and due_at is not null and attempt_count = 0 and not is_manual limit ${most}
    ) waiting`.execute(tx.db);
  return rows[0]?.count ?? 0;
}

export interface ReplayedRange {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** Only these types; null: all that the webhook has. */
  readonly events: readonly string[] | null;
  readonly most: number;
}

/** Makes deliveries of kept events that the webhook is subscribed to, in their order. Returns their number, at most `most`. */
export async function replayEvents(tx: Tx, webhook: WebhookRow, range: ReplayedRange): Promise<number> {
  const { from, to, events, most } = range;
  const { numAffectedRows } = await sql`
    insert into webhook_deliveries
      (id, account_id, webhook_id, event_id, sequence, event_type, kind, due_at, next_attempt_at, created_at)
    select emanet.uuid_at(${tx.now}), account_id, ${webhook.id}, id, sequence, type, 'replay', ${tx.now}, ${tx.now}, ${tx.now}
    from events
    where account_id = ${webhook.account_id} and created_at >= ${from} and created_at < ${to} and type <> 'webhook.test'
      and (${webhook.events.includes("*")} or type = any (${webhook.events}::text[]))
      and (${events === null} or type = any (${events === null ? [] : [...events]}::text[]))
      and (${webhook.vault_ids === null} or vault_id = any (${webhook.vault_ids ?? []}::uuid[]))
    order by sequence limit ${most}`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}

export interface Statistics {
  readonly hours: readonly { readonly hour: Date; readonly delivered: number; readonly failed: number }[];
  /** Of the last day. */
  readonly medianMs: number | null;
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: Readonly<Record<"retrying" | "failed", number>>;
  readonly willDisableAt: Date | null;
}

/** Attempts since these times, and what waits. */
export async function readStatistics(
  tx: ReadTx,
  webhookId: string,
  since: { readonly hours: Date; readonly day: Date },
): Promise<Statistics> {
  const [hours, waiting] = await Promise.all([
    tx.db
      .selectFrom("webhook_hours")
      .select(["hour", "delivered", "failed", "durations"])
      .where("webhook_id", "=", webhookId)
      .where("hour", ">=", since.hours)
      .orderBy("hour")
      .execute(),
    tx.db
      .selectFrom("webhook_deliveries")
      .select(({ fn }) => [
        "state",
        "attempt_count",
        fn.countAll<number>().as("count"),
        fn.min("next_attempt_at").as("next"),
      ])
      .where("webhook_id", "=", webhookId)
      .where("state", "in", ["retrying", "failed"])
      .groupBy(["state", "attempt_count"])
      .execute(),
  ]);
  const day = hours.filter(({ hour }) => hour >= since.day);
  const sum = (of: "delivered" | "failed") => day.reduce((total, row) => total + row[of], 0);
  const durations = day.reduce<number[]>((all, row) => row.durations.map((count, at) => count + (all[at] ?? 0)), []);
  const ends = waiting.flatMap(({ next, attempt_count }) =>
    next === null ? [] : [lastAttemptAt(attempt_count, next)],
  );
  const inState = (state: string) =>
    waiting.filter((row) => row.state === state).reduce((total, { count }) => total + count, 0);
  return {
    hours,
    medianMs: medianOf(durations),
    ...{ delivered: sum("delivered"), failed: sum("failed") },
    waiting: { retrying: inState("retrying"), failed: inState("failed") },
    willDisableAt: ends.length === 0 ? null : new Date(Math.min(...ends.map((end) => end.getTime()))),
  };
}

/** A page of all webhooks, for staff: row access `staff`. */
export async function listAllWebhooks(
  tx: ReadTx,
  accountId: string | undefined,
  page: PageStart,
): Promise<WebhookRow[]> {
  let select = tx.db.selectFrom("webhooks").selectAll().where("removed_at", "is", null);
  if (accountId !== undefined) select = select.where("account_id", "=", accountId);
  return pageRows(select, page);
}

/** A page of all deliveries, for staff: row access `staff`. */
export async function listAllDeliveries(
  tx: ReadTx,
  filter: { readonly account_id?: string; readonly webhook_id?: string; readonly status?: DeliveryRow["state"] },
  page: PageStart,
): Promise<DeliveryRow[]> {
  let select = tx.db.selectFrom("webhook_deliveries").selectAll();
  if (filter.account_id !== undefined) select = select.where("account_id", "=", filter.account_id);
  if (filter.webhook_id !== undefined) select = select.where("webhook_id", "=", filter.webhook_id);
  if (filter.status !== undefined) select = select.where("state", "=", filter.status);
  return pageRows(select, page);
}
