/**
 * What breaks clients between two surfaces. Additions are fine at any time: operations, optional parameters and fields,
 * headers, values of answers. Everything else is named: `METHOD path: what`, with a place where it is inside a body.
 *
 * A schema is compared in one of two directions. In a *request* the new one must accept all that the old one did; in an
 * *answer* it must promise all that the old one did.
 */

import type { Operation, Parameter, Reply, Schema, Surface } from "./surface.ts";

type Direction = "request" | "answer";

/** Each breaking change in a line; an empty list if a client of the old surface works with the new one. */
export function breakingChanges(before: Surface, after: Surface): string[] {
  const operations = Object.entries(before.operations).flatMap(([name, old]) => {
    const now = after.operations[name];
    if (now === undefined) return [`${name}: removed`];
    const changes = operationChanges(old, now, new Comparison(before, after));
    return changes.map((change) => `${name}: ${change}`);
  });
  const events = Object.entries(before.events).flatMap(([name, old]) => {
    const now = after.events[name];
    if (now === undefined) return [`event ${name}: removed`];
    return new Comparison(before, after).changes(old, now, "answer", `event ${name}`);
  });
  return [...operations, ...events];
}

function operationChanges(old: Operation, now: Operation, comparison: Comparison): string[] {
  return [
    ...(old.id === now.id ? [] : [`its operationId changed from ${old.id} to ${now.id}`]),
    ...accessChanges(old.access, now.access),
    ...parameterChanges(old.parameters, now.parameters, comparison),
    ...bodyChanges(old.body, now.body, comparison),
    ...Object.entries(old.replies).flatMap(([status, reply]) =>
      replyChanges(reply, now.replies[status], comparison).map((change) => `answer ${status}: ${change}`),
    ),
    ...problemChanges(old.problems, now.problems),
  ];
}

/** A code that is no longer used breaks no client; one with another status does. */
function problemChanges(old: Operation["problems"], now: Operation["problems"]): string[] {
  const moved = Object.entries(old).filter(([code, status]) => (now[code] ?? status) !== status);
  return moved.map(([code, status]) => `${code} was ${status} and is ${now[code]}`);
}

function accessChanges(old: Operation["access"], now: Operation["access"]): string[] {
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return names.flatMap((name) => {
    const [was, is] = [old[name], now[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (name === "x-roles" && Array.isArray(was) && Array.isArray(is)) {
      const gone = was.filter((role) => !is.includes(role));
      return gone.length === 0 ? [] : [`no longer open to ${gone.join(", ")}`];
    }
    // Needed before and no longer: fine. What was open and is no longer, or needs something else, is not.
    const isLoosened = name === "x-within-vaults" ? is === true : is === undefined || is === "public";
    return isLoosened
      ? []
      : [`${name} was ${JSON.stringify(was) ?? "absent"} and is ${JSON.stringify(is) ?? "absent"}`];
  });
}

function parameterChanges(
  old: Readonly<Record<string, Parameter>>,
  now: Readonly<Record<string, Parameter>>,
  comparison: Comparison,
): string[] {
  const kept = Object.entries(old).flatMap(([name, { required, schema }]) => {
    const same = now[name];
    if (same === undefined) return [`parameter ${name} removed`];
    return [
      ...(same.required && !required ? [`parameter ${name} is required now`] : []),
      ...comparison.changes(schema, same.schema, "request", `parameter ${name}`),
    ];
  });
  const added = Object.entries(now).filter(([name, { required }]) => !(name in old) && required);
  return [...kept, ...added.map(([name]) => `parameter ${name} is new and required`)];
}

function bodyChanges(old: Operation["body"], now: Operation["body"], comparison: Comparison): string[] {
  if (old === null) return now?.required === true ? ["a body is required now"] : [];
  if (now === null) return ["it takes no body any more"];
  return [
    ...(now.required && !old.required ? ["a body is required now"] : []),
    ...contentChanges(old.content, now.content, "request", comparison),
  ];
}

function replyChanges(old: Reply, now: Reply | undefined, comparison: Comparison): string[] {
  if (now === undefined) return ["removed"];
  const headers = old.headers.filter((name) => !now.headers.includes(name));
  return [
    ...headers.map((name) => `header ${name} removed`),
    ...contentChanges(old.content, now.content, "answer", comparison),
  ];
}

function contentChanges(
  old: Readonly<Record<string, Schema>>,
  now: Readonly<Record<string, Schema>>,
  direction: Direction,
  comparison: Comparison,
): string[] {
  return Object.entries(old).flatMap(([type, schema]) => {
    const same = now[type];
    return same === undefined ? [`${type} removed`] : comparison.changes(schema, same, direction, type);
  });
}

/** Bounds that may only move one way in a request: a lower one down, an upper one up. */
const lowerBounds = ["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"] as const;
const upperBounds = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties"] as const;
/** Keywords that may only go away in a request: another value accepts other things. */
const exact = ["pattern", "format", "const", "uniqueItems", "multipleOf"] as const;

/** Compares schemas of two surfaces; shared ones are followed, each pair once. */
class Comparison {
  readonly #before: Surface;
  readonly #after: Surface;
  readonly #seen = new Set<string>();

  constructor(before: Surface, after: Surface) {
    this.#before = before;
    this.#after = after;
  }

  changes(oldSchema: Schema, nowSchema: Schema, direction: Direction, place: string): string[] {
    const pair = `${oldSchema.$ref} ${nowSchema.$ref} ${direction}`;
    if (oldSchema.$ref !== undefined && nowSchema.$ref !== undefined) {
      if (this.#seen.has(pair)) return [];
      this.#seen.add(pair);
    }
    const old = resolved(oldSchema, this.#before);
    const now = resolved(nowSchema, this.#after);
    return [
      ...typeChanges(old, now, direction).map((change) => `${place}: ${change}`),
      ...(direction === "request" ? boundChanges(old, now).map((change) => `${place}: ${change}`) : []),
      ...this.#membersOf(old, now, direction, place),
      ...(old.items && now.items ? this.changes(old.items, now.items, direction, `${place}[]`) : []),
    ];
  }

  #membersOf(old: Flat, now: Flat, direction: Direction, place: string): string[] {
    const kept = Object.entries(old.properties ?? {}).flatMap(([name, schema]) => {
      const same = now.properties?.[name];
      if (same === undefined) return [`${place}.${name}: removed`];
      return this.changes(schema, same, direction, `${place}.${name}`);
    });
    const [needed, before] =
      direction === "request" ? [now.required ?? [], old.required ?? []] : [old.required ?? [], now.required ?? []];
    const moved = needed.filter((name) => !before.includes(name));
    // In an answer a field that is gone altogether is named above.
    const named = moved.filter((name) => direction === "request" || now.properties?.[name] !== undefined);
    const what = direction === "request" ? "required now" : "no longer always there";
    return [...kept, ...named.map((name) => `${place}.${name}: ${what}`)];
  }
}

/** A schema with its shared one in place, and `anyOf` of one schema and null as that schema that may be null. */
type Flat = Schema & { readonly isNullable: boolean; readonly types: readonly string[] };

function resolved(schema: Schema, surface: Surface): Flat {
  if (schema.$ref !== undefined) return resolved(surface.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, surface);
  const options = schema.anyOf?.map((each) => resolved(each, surface)) ?? [];
  const real = options.filter(({ types }) => types.join() !== "null");
  const [only] = real;
  if (only !== undefined && real.length === 1) return { ...only, isNullable: options.length > 1 || only.isNullable };
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const all = options.length > 0 ? options.flatMap((each) => each.types) : types;
  return {
    ...schema,
    types: all.filter((each) => each !== "null" || all.length === 1),
    isNullable: all.includes("null"),
  };
}

function typeChanges(old: Flat, now: Flat, direction: Direction): string[] {
  const [wide, narrow] = direction === "request" ? [old, now] : [now, old];
  const covers = (type: string) =>
    narrow.types.includes(type) || (type === "integer" && narrow.types.includes("number"));
  const changes: string[] = [];
  // A schema without a type takes everything.
  if (narrow.types.length > 0 && (wide.types.length === 0 || !wide.types.every(covers)))
    changes.push(`type was ${old.types.join("|") || "any"} and is ${now.types.join("|") || "any"}`);
  if (wide.isNullable && !narrow.isNullable)
    changes.push(direction === "request" ? "null is refused now" : "may be null now");
  return [...changes, ...valueChanges(old, now, direction)];
}

function valueChanges(old: Flat, now: Flat, direction: Direction): string[] {
  if (direction === "answer") return [];
  if (now.enum === undefined) return [];
  if (old.enum === undefined) return [`only ${now.enum.join(", ")} are taken now`];
  const gone = old.enum.filter((value) => !now.enum?.includes(value));
  return gone.length === 0 ? [] : [`${gone.join(", ")} no longer taken`];
}

function boundChanges(old: Flat, now: Flat): string[] {
  const number = (schema: Flat, name: string) => schema[name] as number | undefined;
  const raised = lowerBounds.filter((name) => (number(now, name) ?? -Infinity) > (number(old, name) ?? -Infinity));
  const lowered = upperBounds.filter((name) => (number(now, name) ?? Infinity) < (number(old, name) ?? Infinity));
  const other = exact.filter((name) => now[name] !== undefined && now[name] !== false && now[name] !== old[name]);
  const closed =
    now.additionalProperties === false && old.additionalProperties !== false && old.properties !== undefined;
  return [
    ...[...raised, ...lowered].map((name) => `${name} was ${String(old[name])} and is ${String(now[name])}`),
    ...other.map((name) => `${name} changed`),
    ...(closed ? ["unknown fields are refused now"] : []),
  ];
}
