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

/**
 * Appends an event to the account's stream: takes the next number and writes the payload with it, in one statement. It locks
 * the head of the stream until the transaction ends, so send it last.
 */
export function appendEvent(accountId: string, now: Date, event: PendingEvent): Statement {
  const before = JSON.stringify({ event: event.type, event_id: event.id });
  const rest: Record<string, unknown> = { account_id: accountId, created_at: now };
  for (const name in event.fields) {
    // No field of an event may pass for one that every event has.
    if (!envelopeNames.has(name)) rest[name] = event.fields[name];
  }
  const after = JSON.stringify(rest);
  const values = [accountId, event.id, event.type, `${before.slice(0, -1)},"sequence":`, `,${after.slice(1)}`, now];
  return { text: appendText, values };
}

const envelopeNames: ReadonlySet<string> = new Set(["event", "event_id", "sequence", "account_id", "created_at"]);

const appendText = `
  with head as (
    insert into event_heads (account_id, sequence) values ($1, 1)
    on conflict (account_id) do update set sequence = event_heads.sequence + 1
    returning sequence)
  insert into events (account_id, sequence, id, type, payload, created_at)
    select $1, sequence, $2, $3, $4::text || sequence || $5::text, $6 from head`;
