/** Days of people: they begin at midnight in Istanbul. A day is text, as `2026-11-17`. */

import { Type } from "../kernel/http/schema.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";

const zone = "Europe/Istanbul";

/** The contract's: a quarter of a year. */
export const maxDays = 92;
/** A month, where the request says nothing. */
export const defaultDays = 30;

/** Before any backup. */
const firstDay = "2000-01-01";
/** A calendar may show days to come. */
const maxDaysAhead = 366;

export function dayParameter(description: string) {
  return Type.Optional(daySchema(description));
}

export function daySchema(description: string) {
  return Type.String({ format: "date", minLength: 10, maxLength: 10, description, examples: ["2026-11-17"] });
}

export function dayOf(moment: Date): string {
  return Temporal.Instant.fromEpochMilliseconds(moment.getTime()).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/** The moment at which a day begins. */
export function startOf(day: string): Date {
  return new Date(Temporal.PlainDate.from(day).toZonedDateTime(zone).epochMilliseconds);
}

export function addDays(day: string, count: number): string {
  return Temporal.PlainDate.from(day).add({ days: count }).toString();
}

/** How many days after the other one. */
export function daysBetween(from: string, to: string): number {
  return Temporal.PlainDate.from(from).until(Temporal.PlainDate.from(to), { largestUnit: "days" }).days;
}

/** The days from the first to the last that a request asks for, both included. */
export function daysOf(
  query: { readonly from?: string; readonly to?: string },
  now: Date,
  language: Language,
  most = maxDays,
): readonly string[] {
  const today = dayOf(now);
  const to = query.to ?? today;
  const from = query.from ?? addDays(to, 1 - defaultDays);
  const count = daysBetween(from, to) + 1;
  const isKnown = from >= firstDay && to <= addDays(today, maxDaysAhead);
  if (count < 1 || count > most || !isKnown)
    throw new Problem("validation_failed", { errors: [invalidField("/query/from", "out_of_range", language)] });
  return Array.from({ length: count }, (_, at) => addDays(from, at));
}
