/**
 * Example values of a schema, for the OpenAPI document. A schema's own `examples` come first. The rest follows from the
 * schema, so most shapes need examples only for their texts.
 */

interface Schema {
  readonly type?: string;
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly format?: string;
}

const byFormat: Readonly<Record<string, string>> = {
  uuid: "0199c0de-0000-7000-8000-000000000001",
  "date-time": "2026-11-16T09:30:00.000Z",
  date: "2026-11-16",
  email: "ayse@ornek.example",
  uri: "https://api.emanet.example/docs",
};

/**
 * The example of a schema. Values that may be null are null unless they have examples; optional fields are left out unless
 * they have examples. Throws for a text of which nothing but a pattern is known.
 */
export function exampleOf(schema: object, place = ""): unknown {
  const { type, examples, anyOf, minimum, format = "", ...rest }: Schema = schema;
  if (examples !== undefined && examples.length > 0) return examples[0];
  if ("const" in rest) return rest.const;
  if (rest.enum !== undefined) return rest.enum[0];
  if (anyOf !== undefined) return exampleOfUnion(anyOf, place);
  switch (type) {
    case "null":
      return null;
    case "object":
      return exampleOfObject(rest, place);
    case "array":
      return rest.items === undefined ? [] : [exampleOf(rest.items, `${place}/0`)];
    case "integer":
    case "number":
      return minimum ?? 0;
    case "boolean":
      return false;
    default:
      if (byFormat[format] !== undefined) return byFormat[format];
      throw new Error(
        `the text ${place} needs \`examples\` in its schema: a pattern does not say what a value looks like`,
      );
  }
}

function exampleOfUnion(options: readonly Schema[], place: string): unknown {
  const told = options.find(({ examples }) => examples !== undefined);
  const empty = options.find(({ type }) => type === "null");
  return exampleOf(told ?? empty ?? options[0] ?? {}, place);
}

function exampleOfObject({ properties = {}, required = [] }: Schema, place: string): unknown {
  const shown = Object.entries(properties).filter(
    ([name, { examples }]) => required.includes(name) || examples !== undefined,
  );
  return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(each, `${place}/${name}`)]));
}
