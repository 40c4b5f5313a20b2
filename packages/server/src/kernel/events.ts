/**
 * Events: what happened to an account, for its own systems to hear of. An *event type* is declared once, with the
 * fields it carries; the document's `webhooks` section, the payload and the tests read the same declaration.
 *
 * A payload is flat JSON, ids only, and is stored as the very bytes that are sent. `sequence` counts per account in the
 * order of commits, without gaps.
 */

import type { Static, TObject } from "typebox";
import type { Statement } from "./database/batch.ts";

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

/** Takes the next `count` numbers of the account's stream. Holds the stream's head until the transaction ends. */
export function lockStream(accountId: string, count: number): Statement {
  const text = `
    insert into event_heads (account_id, sequence) values ($1, $2)
    on conflict (account_id) do update set sequence = event_heads.sequence + excluded.sequence
    returning sequence`;
  return { text, values: [accountId, count] };
}

/** Appends to the account's stream; `head` is the row of {@link lockStream}. */
export function eventStatements(
  accountId: string,
  now: Date,
  events: readonly PendingEvent[],
  head: Readonly<Record<string, unknown>> | undefined,
): readonly Statement[] {
  const last = head?.sequence;
  if (typeof last !== "number") throw new Error("the head of the event stream is not visible in this scope");
  return events.map((event, index) => {
    const sequence = last - events.length + 1 + index;
    const envelope = { event: event.type, event_id: event.id, sequence, account_id: accountId, created_at: now };
    // The envelope comes first and wins: no field of an event may pass for one of these.
    const payload = JSON.stringify({ ...envelope, ...event.fields, ...envelope });
    return {
      text: `
        insert into events (account_id, sequence, id, type, payload, created_at) values ($1, $2, $3, $4, $5, $6)`,
      values: [accountId, sequence, event.id, event.type, payload, now],
    };
  });
}
