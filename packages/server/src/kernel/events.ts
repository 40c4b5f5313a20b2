/**
 * Events: what happened to an account, for its own systems to hear of. An *event type* is declared once, with the
 * fields it carries; the document's `webhooks` section, the payload and the tests read the same declaration.
 *
 * A payload is flat JSON, ids only, and is stored as the very bytes that are sent. `sequence` counts per account in the
 * order of commits, without gaps.
 *
 * An event of a vault (`ofVault`) is shown to a client that is held to vaults only if the vault is one of them; it never
 * sees an event of another type.
 */

import type { Static, TObject } from "typebox";
import type { Statement } from "./database/batch.ts";
import { exampleOf } from "./http/openapi-examples.ts";
import { closed, Type, timestamp, uuid } from "./http/schema.ts";

export interface EventType<Fields extends TObject = TObject, OfVault extends boolean = boolean> {
  /** `noun.past_tense`, e.g. `snapshot.completed`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: Fields;
  /** It happened in one vault, whose id the emitter gives. */
  readonly ofVault: OfVault;
}

type Declaration<Fields extends TObject> = Omit<EventType<Fields>, "ofVault">;

/** Declares an event type. */
export function eventType<Fields extends TObject>(
  type: Declaration<Fields> & { readonly ofVault: true },
): EventType<Fields, true>;
export function eventType<Fields extends TObject>(type: Declaration<Fields>): EventType<Fields, false>;
export function eventType<Fields extends TObject>(type: Declaration<Fields> & { readonly ofVault?: true }) {
  return { ...type, ofVault: type.ofVault ?? false };
}

export interface PendingEvent {
  readonly id: string;
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Null for an event that is not of a vault. */
  readonly vaultId: string | null;
}

export type EventFields<T extends EventType> = Static<T["fields"]> & Readonly<Record<string, unknown>>;

/** What `emit` needs beside the fields: the vault, for the types that have one. */
export type EventPlace<T extends EventType> = T["ofVault"] extends true ? [place: { readonly vaultId: string }] : [];

/** The fields of every event, before its own. */
const envelope = {
  event_id: uuid("The event; the same in every delivery of it."),
  sequence: Type.Integer({
    ...{ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    description: "Its number in the account's stream.",
  }),
  account_id: uuid("The account."),
  created_at: timestamp("When it happened."),
};

/** The schema of a payload: what every event has, and the type's own fields. */
export function payloadSchema({ name, fields }: EventType): TObject {
  const event = Type.Unsafe<string>({ type: "string", enum: [name], description: "The type of the event." });
  const title = fields as { readonly title?: string };
  return closed({ event, ...envelope, ...fields.properties }, title.title === undefined ? {} : { title: title.title });
}

/** A payload with example values, made by the function that makes the real ones. */
export function examplePayload(type: EventType): unknown {
  const { event_id, sequence, account_id, created_at } = exampleOf(closed(envelope)) as Record<string, string>;
  const fields = exampleOf(type.fields) as PendingEvent["fields"];
  const event = { id: event_id ?? "", type: type.name, fields, vaultId: null };
  const [before, after] = payloadParts(account_id ?? "", new Date(created_at ?? 0), event);
  return JSON.parse(`${before}${sequence}${after}`);
}

/** The payload in two parts, with the place of its sequence between them. */
function payloadParts(accountId: string, now: Date, event: PendingEvent): readonly [string, string] {
  const before = JSON.stringify({ event: event.type, event_id: event.id });
  const rest: Record<string, unknown> = { account_id: accountId, created_at: now };
  for (const name in event.fields) {
    // No field of an event may pass for one that every event has.
    if (!envelopeNames.has(name)) rest[name] = event.fields[name];
  }
  return [`${before.slice(0, -1)},"sequence":`, `,${JSON.stringify(rest).slice(1)}`];
}

const envelopeNames: ReadonlySet<string> = new Set(["event", ...Object.keys(envelope)]);

/**
 * Appends events to the account's stream: takes the next numbers and writes the payloads with them, in one statement. It locks
 * the head of the stream until the transaction ends, so send it last. Where the account has subscribers (webhooks), the statement
 * also queues the deliveries of the events; where it has none, that costs nothing.
 */
export function appendEvents(accountId: string, now: Date, events: readonly PendingEvent[]): Statement {
  const rows = events.map((event) => {
    const [before, after] = payloadParts(accountId, now, event);
    return [event.id, event.type, before, after, event.vaultId] as const;
  });
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return { text: appendOne, values: [accountId, now, ...only] };
  const columns = columnsOf.map((at) => rows.map((row) => row[at]));
  return { text: appendMany, values: [accountId, now, ...columns, rows.length] };
}

/** Of a row of {@link appendEvents}. */
const columnsOf = [0, 1, 2, 3, 4] as const;

const eventColumns = "account_id, sequence, created_at, id, type, payload, vault_id";

/**
 * Who appends waits here, not at the row: those that wait for a row are all woken by every commit that changes it, and all but one wait
 * again. A quarter of the CPU of PostgreSQL with 16 requests of one account at a time.
 */
const turn = "turn as materialized (select pg_advisory_xact_lock(uuid_hash_extended($1, 0)))";

const appendOne = `
  with ${turn},
  head as (
    insert into event_heads (account_id, sequence) select $1, 1 from turn
    on conflict (account_id) do update set sequence = event_heads.sequence + 1
    returning sequence, has_subscribers),
  written as (
    insert into events (${eventColumns}) select $1, sequence, $2, $3, $4, $5::text || sequence || $6::text, $7 from head
    returning sequence)
  select emanet.queue_deliveries($1, sequence, sequence) from written where (select has_subscribers from head)`;

const appendMany = `
  with ${turn},
  head as (
    insert into event_heads (account_id, sequence) select $1, $8 from turn
    on conflict (account_id) do update set sequence = event_heads.sequence + $8
    returning sequence, has_subscribers),
  written as (
    insert into events (${eventColumns})
    select $1, head.sequence - $8 + at, $2, id, type, before || (head.sequence - $8 + at) || after, vault_id
    from head, unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::uuid[])
      with ordinality as event (id, type, before, after, vault_id, at)
    returning sequence)
  select emanet.queue_deliveries($1, min(sequence), max(sequence)) from written having (select has_subscribers from head)`;
