/**
 * The row types: the text of `rows.generated.ts`, made from the schema for Kysely. What a column's values are in
 * JavaScript is decided in parsers.ts; this file says the same to the type checker.
 */

import type { Column, Relation, Schema } from "./schema.ts";

/** The text of `rows.generated.ts`. */
export function rowTypes(schema: Schema): string {
  const enums = new Map(schema.enums.map((type) => [type.name, union(type.labels)]));
  const relations = schema.relations.filter((relation) => relation.kind !== "sequence");
  const body = relations.map((relation) => relationType(relation, enums)).join("\n");
  const table = relations.map((relation) => `  readonly ${relation.name}: ${typeName(relation)};\n`).join("");
  const kyselyTypes = ["ColumnType", "Generated", "GeneratedAlways"].filter((name) => body.includes(`${name}<`));
  return [
    "// The rows of the schema as the migrations leave it. Made by `npm run generate`; do not edit.\n",
    kyselyTypes.length > 0 ? `import type { ${kyselyTypes.join(", ")} } from "kysely";\n` : "",
    "export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };\n",
    `export interface Database {\n${table}}\n`,
    body,
  ]
    .filter(Boolean)
    .join("\n");
}

/** The names of types in the system catalog, as parsers.ts and `pg` read them. */
const scalars: Readonly<Record<string, string>> = {
  bool: "boolean",
  bytea: "Buffer",
  date: "string",
  float4: "number",
  float8: "number",
  inet: "string",
  int2: "number",
  int4: "number",
  int8: "number",
  json: "JsonValue",
  jsonb: "JsonValue",
  numeric: "string",
  text: "string",
  timestamptz: "Date",
  uuid: "string",
  varchar: "string",
};

function relationType(relation: Relation, enums: ReadonlyMap<string, string>): string {
  const choices = checkedChoices(relation);
  const lines = relation.columns.map((column) => {
    const scalar = choices.get(column.name) ?? enums.get(column.baseType) ?? scalars[column.baseType];
    if (scalar === undefined) {
      throw new Error(`${relation.name}.${column.name} is a ${column.type}: give it a type in rows.ts and a parser`);
    }
    return `  readonly ${column.name}: ${columnType(relation, column, scalar)};\n`;
  });
  return `export interface ${typeName(relation)} {\n${lines.join("")}}\n`;
}

function columnType(relation: Relation, column: Column, scalar: string): string {
  const orNull = column.nullable ? " | null" : "";
  const selected = `${column.array ? `readonly ${/\W/.test(scalar) ? `(${scalar})` : scalar}[]` : scalar}${orNull}`;
  if (relation.kind !== "table") return `ColumnType<${selected}, never, never>`;
  if (column.generated === "identity always" || column.generated === "stored" || column.generated === "virtual") {
    return `GeneratedAlways<${selected}>`;
  }
  const filled = column.default !== null || column.generated === "identity by default";
  // pg would send a JavaScript array as a PostgreSQL array, so JSON goes in as text only.
  if (scalar === "JsonValue" && !column.array) {
    return `ColumnType<${selected}, string${orNull}${filled || column.nullable ? " | undefined" : ""}, string${orNull}>`;
  }
  return filled ? `Generated<${selected}>` : selected;
}

/** `check (column in ('a', 'b'))` is how the schema writes a closed set of words. */
function checkedChoices(relation: Relation): ReadonlyMap<string, string> {
  const word = "'(?:[^']|'')*'::text";
  const pattern = new RegExp(`^CHECK \\(\\((\\w+) = (?:ANY \\(ARRAY\\[(${word}(?:, ${word})*)\\]\\)|(${word}))\\)\\)$`);
  const found = relation.constraints.flatMap(({ definition }) => {
    const [, column, several, one] = pattern.exec(definition) ?? [];
    if (column === undefined) return [];
    const words = [...(several ?? one ?? "").matchAll(/'((?:[^']|'')*)'::text/g)];
    return [[column, union(words.map(([, text = ""]) => text.replaceAll("''", "'")))] as const];
  });
  return new Map(found);
}

function union(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(" | ");
}

function typeName(relation: Relation): string {
  const words = relation.name.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}Row`;
}
