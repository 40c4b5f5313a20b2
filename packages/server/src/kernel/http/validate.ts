/**
 * Strict validation at the edge: nothing is coerced, defaulted or dropped. 400 is for what cannot be parsed or is not
 * known at all, 422 for what was understood and breaks a rule; a 422 lists each place, in words that never repeat the
 * value.
 */

import type { IncomingHttpHeaders } from "node:http";
import { Ajv2020 as AjvClass, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { TObject, TSchema } from "typebox";
import { type FieldError, type Language, Problem } from "../problems.ts";
import { percentDecoded } from "./path-bytes.ts";

/** Enough to correct a form at once. A hostile body causes neither a long answer nor more work. */
export const maxFindings = 20;

// Stops at the first finding. With `allErrors` a body of 85 000 unknown fields has as many findings made.
const ajv = schemaCompiler({ allErrors: false });

/** For single texts and numbers, which break no more rules than their schema has. */
const thoroughAjv = schemaCompiler({ allErrors: true });

function schemaCompiler({ allErrors }: { readonly allErrors: boolean }): AjvClass {
  const made = new AjvClass({ strict: true, allErrors, allowUnionTypes: false });
  formats.default(made, ["uuid", "date-time", "date", "email", "uri"]);
  for (const format of ["int32", "int64"]) made.addFormat(format, { type: "number", validate: Number.isSafeInteger });
  return made;
}

/** The first findings, or an empty list. */
export type Validator = (value: unknown, language: Language) => FieldError[];

/**
 * Compiles a schema once, when it is first needed: a start need not wait for all of them. `place` begins every pointer:
 * empty for a body, `/query` and `/path` for parameters.
 */
export function validator(schema: TSchema, place: "" | "/query" | "/path" | "/header" | "/reply"): Validator {
  let compiled: ValidateFunction | undefined;
  return (value, language) => {
    compiled ??= ajv.compile(schema);
    if (!compiled(value)) return [...wrongPlaces(schema, value, place, language).take(maxFindings)];
    // What a reply shows was stored or is ours.
    if (place === "/reply" || isStorable(value)) return [];
    return [...unstorableText(value, place, language).take(maxFindings)];
  };
}

export function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new Problem("validation_failed", { errors: errors.slice(0, maxFindings) });
}

/** A finding of a domain's own rule, in the form of the kernel's. */
export function invalidField(pointer: string, code: FieldErrorCode, language: Language): FieldError {
  return { pointer, code, detail: fieldErrors[code][language] };
}

/** What a query says. */
export interface ParsedQuery {
  readonly query: Record<string, unknown>;
  /** The value of the parameter that may be any bytes; null when it is absent. In `query` it is text, as far as it is text. */
  readonly bytes: Buffer | null;
}

/**
 * Reads a query string by its schema: every name known, none twice, numbers and booleans in their one spelling. All is UTF-8, except the
 * value of the parameter `bytesName`.
 */
export function parseQuery(text: string, schema: TObject | undefined, bytesName?: string): ParsedQuery {
  if (text === "") return { query: {}, bytes: null };
  const parsed: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  let bytes: Buffer | null = null;
  for (const pair of text.replaceAll("+", "%20").split("&")) {
    const [name, encoded] = splitPair(pair);
    const property = schema && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (property === undefined) throw new Problem("unknown_parameter");
    if (name in parsed) throw new Problem("duplicate_parameter");
    if (name === bytesName) bytes = percentDecoded(encoded);
    if (name === bytesName && bytes === null) throw new Problem("malformed_request");
    parsed[name] = name === bytesName ? bytes?.toString() : readScalar(decoded(encoded), property);
  }
  return { query: { ...parsed }, bytes };
}

/** Reads the headers that a schema names; the names of the result are those of the schema. */
export function parseHeaders(headers: IncomingHttpHeaders, schema: TObject): Record<string, unknown> {
  const parsed: Record<string, unknown> = {};
  for (const [name, property] of Object.entries<TSchema>(schema.properties)) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) parsed[name] = readScalar(Array.isArray(value) ? value.join(", ") : value, property);
  }
  return parsed;
}

/** The name, and the value as it was sent. */
function splitPair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [decoded(pair), ""] : [decoded(pair.slice(0, at)), pair.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem("malformed_request");
  }
}

function readScalar(text: string, schema: TSchema): unknown {
  const type = "type" in schema ? schema.type : undefined;
  if (type === "integer" && /^-?(0|[1-9]\d{0,15})$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

/**
 * The findings of a value, in order and one at a time, so that nothing is looked at after the last one that is wanted.
 * Only what is wrong is gone into, and of that no list that is too long.
 */
function* wrongPlaces(schema: TSchema, value: unknown, pointer: string, language: Language): Generator<FieldError> {
  const check = (typeof value === "object" ? ajv : thoroughAjv).compile(schema);
  if (check(value)) return;
  const own = (check.errors ?? []).filter((error) => !combinators.has(error.keyword));
  let foundInside = false;
  for (const finding of wrongPlacesInside(schema, value, pointer, language)) {
    foundInside = true;
    yield finding;
  }
  if (!foundInside) yield* own.map((error) => fieldError(error, pointer, language));
}

function* wrongPlacesInside(
  { properties, required, additionalProperties, items, maxItems = Number.POSITIVE_INFINITY }: StructureOf,
  value: unknown,
  pointer: string,
  language: Language,
): Generator<FieldError> {
  if (items !== undefined && Array.isArray(value) && value.length <= maxItems) {
    for (const [index, item] of value.entries()) yield* wrongPlaces(items, item, `${pointer}/${index}`, language);
  }
  if (properties === undefined || !isRecord(value)) return;
  for (const name of required ?? []) {
    if (!Object.hasOwn(value, name)) yield invalidField(`${pointer}/${name}`, "required", language);
  }
  for (const [name, property] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) yield* wrongPlaces(property, value[name], `${pointer}/${name}`, language);
  }
  if (additionalProperties !== false) return;
  // Not `Object.keys`: this loop ends with the last finding that is wanted.
  for (const name in value) {
    // The name of an unknown field is the client's own text, so the pointer stops at the object that holds it.
    if (!Object.hasOwn(properties, name)) yield invalidField(pointer, "unknown_field", language);
  }
}

/** The keywords by which a schema has others inside. */
interface StructureOf {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: TSchema;
  readonly maxItems?: number;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Which sides of a union failed says nothing that the failures of its members do not. */
const combinators = new Set(["anyOf", "oneOf", "allOf", "if"]);

// biome-ignore format: one code, one line
const fieldErrors = {
  required: { en: "This field is required.", tr: "Bu alan zorunludur." },
  unknown_field: { en: "This field is not supported.", tr: "Bu alan desteklenmiyor." },
  wrong_type: { en: "The value has the wrong type.", tr: "Değerin türü yanlış." },
  not_allowed: { en: "The value is not one of the allowed values.", tr: "Değer izin verilenlerden biri değil." },
  too_short: { en: "The value is too short.", tr: "Değer çok kısa." },
  too_long: { en: "The value is too long.", tr: "Değer çok uzun." },
  out_of_range: { en: "The number is out of range.", tr: "Sayı aralık dışında." },
  wrong_format: { en: "The value does not have the required format.", tr: "Değer istenen biçimde değil." },
  invalid_checksum: { en: "The check digits are wrong. Check for a typing mistake.", tr: "Kontrol haneleri yanlış. Yazım hatası olup olmadığını kontrol edin." },
  too_common: { en: "This password is too common. Choose another one.", tr: "Bu parola çok yaygın. Başka bir parola seçin." },
  consent_required: { en: "This consent is required.", tr: "Bu onay zorunludur." },
} satisfies Record<string, Record<Language, string>>;

type FieldErrorCode = keyof typeof fieldErrors;

const codeByKeyword: Readonly<Record<string, FieldErrorCode>> = {
  required: "required",
  additionalProperties: "unknown_field",
  propertyNames: "unknown_field",
  type: "wrong_type",
  enum: "not_allowed",
  const: "not_allowed",
  minLength: "too_short",
  minItems: "too_short",
  maxLength: "too_long",
  maxItems: "too_long",
  maxProperties: "too_long",
  minimum: "out_of_range",
  maximum: "out_of_range",
};

function fieldError(error: ErrorObject, place: string, language: Language): FieldError {
  const child: unknown = error.params.missingProperty ?? error.params.propertyName;
  const unknown = error.keyword === "additionalProperties";
  // The name of an unknown field is the client's own text, so the pointer stops at the object that holds it.
  const pointer = child === undefined || unknown ? error.instancePath : `${error.instancePath}/${String(child)}`;
  return invalidField(`${place}${pointer}`, codeByKeyword[error.keyword] ?? "wrong_format", language);
}

/** Whether {@link unstorableText} would find nothing; cheaper, because almost every value passes. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value !== "object" || value === null) return true;
  for (const key in value) {
    if (!isStorable(key) || !isStorable((value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

/** PostgreSQL stores neither NUL nor half a surrogate pair; both would be an error or a silent change later. */
function* unstorableText(value: unknown, pointer: string, language: Language): Generator<FieldError> {
  if (typeof value === "string") {
    const storable = value.isWellFormed() && !value.includes("\0");
    if (!storable) yield invalidField(pointer, "wrong_format", language);
  }
  if (typeof value !== "object" || value === null) return;
  for (const key in value) {
    yield* unstorableText(key, pointer, language);
    const child = (value as Record<string, unknown>)[key];
    yield* unstorableText(child, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, language);
  }
}
