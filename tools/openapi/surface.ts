/**
 * The *surface* of an OpenAPI document: what a client can depend on, and nothing else. Descriptions, examples and the
 * bodies of problems are left out (every problem has one form; its code and status are kept), so the surface of a release is small enough to be kept
 * in the repository and read in a diff.
 */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly id: string;
  /** The `x-…` members that say who may call it. */
  readonly access: Readonly<Record<string, unknown>>;
  /** By `in name`. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly body: { readonly required: boolean; readonly content: Readonly<Record<string, Schema>> } | null;
  /** Answers that are no problems, by status. */
  readonly replies: Readonly<Record<string, Reply>>;
  /** Status by error code. */
  readonly problems: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly headers: readonly string[];
  readonly content: Readonly<Record<string, Schema>>;
}

export interface Surface {
  readonly version: string;
  /** By `METHOD path`. */
  readonly operations: Readonly<Record<string, Operation>>;
  /** Payload by event. */
  readonly events: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** As much of an OpenAPI document as is read here. */
export interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly webhooks?: Readonly<Record<string, { readonly post: Pick<DocumentOperation, "requestBody"> }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface DocumentOperation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Media };
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: Media }>>;
  readonly [extension: `x-${string}`]: unknown;
}

type Media = Readonly<Record<string, { readonly schema?: Schema }>>;

export function surfaceOf(document: Document): Surface {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operationOf(operation)]),
  );
  const byName = Object.fromEntries(operations.sort()) as Surface["operations"];
  const events = Object.fromEntries(
    Object.entries(document.webhooks ?? {}).map(([name, { post }]) => [
      name,
      contentOf(post.requestBody?.content ?? {})["application/json"] ?? {},
    ]),
  );
  const { version } = document.info;
  return { version, operations: byName, events, schemas: used([byName, events], document.components.schemas) };
}

function operationOf(operation: DocumentOperation): Operation {
  const { requestBody: body } = operation;
  const replies = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
  const problems = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    codesIn(content["application/problem+json"]?.schema).map((code) => [code, status]),
  );
  return {
    id: operation.operationId,
    access: Object.fromEntries(Object.entries(operation).filter(([name]) => name.startsWith("x-"))),
    parameters: Object.fromEntries(
      (operation.parameters ?? []).map(({ name, in: place, required = false, schema }) => [
        `${place} ${name}`,
        { required, schema: bare(schema) },
      ]),
    ),
    body: body === undefined ? null : { required: body.required === true, content: contentOf(body.content) },
    replies: Object.fromEntries(
      replies.map(([status, { headers = {}, content = {} }]) => [
        status,
        { headers: Object.keys(headers).sort(), content: contentOf(content) },
      ]),
    ),
    problems: Object.fromEntries(problems),
  };
}

/** The problem codes of an answer. Its schema combines the common form of a problem with a list of codes. */
function codesIn(schema: Schema | undefined): readonly string[] {
  const parts = (schema?.allOf ?? []) as readonly Schema[];
  return parts.flatMap((part) => (part.properties?.code?.enum ?? []) as readonly string[]);
}

function contentOf(media: Media): Record<string, Schema> {
  return Object.fromEntries(Object.entries(media).map(([type, { schema = {} }]) => [type, bare(schema)]));
}

const words = new Set(["description", "title", "example", "examples", "default", "deprecated"]);

/** A schema without its words. */
function bare(schema: Schema): Schema {
  const strip = (value: unknown, inNames: boolean): unknown => {
    if (Array.isArray(value)) return value.map((each) => strip(each, false));
    if (typeof value !== "object" || value === null) return value;
    const kept = Object.entries(value).filter(([name]) => inNames || !words.has(name));
    // Below `properties` stand names that clients chose or see, not keywords.
    return Object.fromEntries(kept.map(([name, each]) => [name, strip(each, name === "properties" && !inNames)]));
  };
  return strip(schema, false) as Schema;
}

/** The shared schemas that operations and events lead to. */
function used(users: readonly object[], schemas: Document["components"]["schemas"]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const look = (text: string) => {
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      const schema = schemas[name];
      if (schema === undefined || name in found) continue;
      found[name] = bare(schema);
      look(JSON.stringify(found[name]));
    }
  };
  look(JSON.stringify(users));
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}
