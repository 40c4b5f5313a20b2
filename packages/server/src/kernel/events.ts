/**
 * Events: what happened to an account, for its own systems to hear of. An *event type* is declared once, with the
 * fields it carries; the document's `webhooks` section, the payload and the tests read the same declaration.
 *
 * A payload is flat JSON, ids only, and is stored as the very bytes that are sent. `sequence` counts per account in the
 * order of commits, without gaps.
 */

import { type Kysely, sql } from "kysely";
import type { Static, TObject } from "typebox";
import type { Database } from "./database/rows.generated.ts";

export interface EventType<Fields extends TObject = TObject> {
  /** `noun.past_tense`, e.g. `snapshot.completed`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: Fields;
}

/** Declares an event type. */
export function eventType<Fields extends TObject>(type: EventType<Fields>): EventType<Fields> {
  return type;
}

export interface PendingEvent {
  readonly id: string;
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export type EventFields<T extends EventType> = Static<T["fields"]> & Readonly<Record<string, unknown>>;

/** Appends to the account's stream. Holds the stream's head until the transaction ends. */
export async function appendEvents(
  db: Kysely<Database>,
  accountId: string,
  now: Date,
  events: readonly PendingEvent[],
): Promise<void> {
  const head = await sql<{ sequence: number }>`
    insert into event_heads (account_id, sequence) values (${accountId}, ${events.length})
    on conflict (account_id) do update set sequence = event_heads.sequence + excluded.sequence
    returning sequence`.execute(db);
  const last = head.rows[0]?.sequence;
  if (last === undefined) throw new Error("the head of the event stream is not visible in this scope");
  const rows = events.map((event, index) => {
    const sequence = last - events.length + 1 + index;
    const envelope = { event: event.type, event_id: event.id, sequence, account_id: accountId, created_at: now };
    return {
      account_id: accountId,
      sequence,
      id: event.id,
      type: event.type,
      // The envelope comes first and wins: no field of an event may pass for one of these.
      payload: JSON.stringify({ ...envelope, ...event.fields, ...envelope }),
      created_at: now,
    };
  });
  await db.insertInto("events").values(rows).execute();
}
