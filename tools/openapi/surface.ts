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
  /** Headers that every answer has. */
  readonly "x-headers"?: readonly string[];
  /** The status of every code, and the codes that every operation can answer. */
  readonly "x-problems"?: {
    readonly everywhere: readonly string[];
    readonly statuses: Readonly<Record<string, number>>;
  };
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, DocumentParameter>>;
    readonly responses?: Readonly<Record<string, DocumentResponse>>;
  };
}

interface DocumentOperation {
  readonly operationId: string;
  readonly parameters?: readonly (DocumentParameter | Reference)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Media };
  readonly responses: Readonly<Record<string, DocumentResponse | Reference>>;
  /** The codes that it can answer beside those of every operation. */
  readonly "x-problems"?: readonly string[];
  readonly [extension: `x-${string}`]: unknown;
}

interface Reference {
  readonly $ref: string;
}

interface DocumentParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface DocumentResponse {
  readonly headers?: object;
  readonly content?: Media;
}

type Media = Readonly<Record<string, { readonly schema?: Schema }>>;

export function surfaceOf(document: Document): Surface {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      operationOf(operation, document),
    ]),
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

function operationOf(operation: DocumentOperation, document: Document): Operation {
  const { requestBody: body } = operation;
  const { parameters = {}, responses = {} } = document.components;
  const replies = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
  const everyHeader = document["x-headers"] ?? [];
  return {
    id: operation.operationId,
    access: Object.fromEntries(
      Object.entries(operation).filter(([name]) => name.startsWith("x-") && name !== "x-problems"),
    ),
    parameters: Object.fromEntries(
      (operation.parameters ?? [])
        .map((one) => shared(one, parameters))
        .map(({ name, in: place, required = false, schema }) => [
          `${place} ${name}`,
          { required, schema: bare(schema) },
        ]),
    ),
    body: body === undefined ? null : { required: body.required === true, content: contentOf(body.content) },
    replies: Object.fromEntries(
      replies
        .map(([status, reply]) => [status, shared(reply, responses)] as const)
        .map(([status, { headers = {}, content = {} }]) => [
          status,
          { headers: [...new Set([...Object.keys(headers), ...everyHeader])].sort(), content: contentOf(content) },
        ]),
    ),
    problems: problemsOf(operation, document),
  };
}

/** The value itself, or the component that it refers to. */
function shared<T extends object>(one: T | Reference, components: Readonly<Record<string, T>>): T {
  if (!("$ref" in one)) return one;
  const found = components[one.$ref.split("/").at(-1) ?? ""];
  if (found === undefined) throw new Error(`${one.$ref} leads nowhere`);
  return found;
}

/** Operations whose errors are no problems (OAuth) answer none. */
function problemsOf(operation: DocumentOperation, { "x-problems": all, components }: Document): Operation["problems"] {
  const isProblem = (response: DocumentResponse | Reference) =>
    "application/problem+json" in (shared(response, components.responses ?? {}).content ?? {});
  if (all === undefined || !Object.values(operation.responses).some(isProblem)) return {};
  const codes = [...all.everywhere, ...(operation["x-problems"] ?? [])].sort();
  return Object.fromEntries(codes.map((code) => [code, String(all.statuses[code])]));
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
    // The keys of `properties` are names that clients choose or see, not keywords.
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
