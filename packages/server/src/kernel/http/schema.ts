/**
 * The vocabulary of request and reply shapes. Every string has a length, every list a size, every object is closed:
 * what a schema does not name is refused on the way in and never leaves on the way out.
 */

import { type Static, type TProperties, type TSchema, Type } from "typebox";

/** Long enough for any identifier or code of ours; short enough to index and to log. */
const maxIdentifierLength = 64;

/** RFC 3339 with milliseconds and an offset is at most 29 characters; one spare digit of year. */
const maxTimestampLength = 30;

/** An object with exactly these members. A `title` makes it a named component of the OpenAPI document. */
export function closed<T extends TProperties>(
  properties: T,
  options: { title?: string; description?: string; examples?: unknown[] } = {},
) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

interface TextOptions {
  readonly minLength?: number;
  readonly description?: string;
  readonly pattern?: string;
  /** Shown in the document. A text without a format needs one in answers. */
  readonly examples?: readonly string[];
}

export function text(maxLength: number, { examples, ...options }: TextOptions = {}) {
  const shown = examples && { examples: [...examples] };
  return Type.String({ minLength: 1, maxLength, pattern: "^[^\\u0000]*$", ...options, ...shown });
}

export function uuid(description: string) {
  return Type.String({ format: "uuid", minLength: 36, maxLength: 36, description });
}

export function timestamp(description: string) {
  return Type.String({ format: "date-time", maxLength: maxTimestampLength, description });
}

export function identifier(pattern: string, description: string, example?: string) {
  const shown = example !== undefined && { examples: [example] };
  return Type.String({ minLength: 1, maxLength: maxIdentifierLength, pattern, description, ...shown });
}

export function oneOf<const T extends readonly string[]>(values: readonly [...T], description: string) {
  return Type.Unsafe<T[number]>({ type: "string", enum: [...values], description });
}

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export type { Static, TSchema };
export { Type };
