/**
 * The generated part of the TypeScript client: types of the document's schemas, the table of operations, and the type of
 * the client with a function for each operation. Names on the wire stay as they are; operations are in camelCase.
 */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  /** It takes the rest of the path, slashes included. */
  readonly "x-multi-segment"?: true;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Reference {
  readonly $ref: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly "x-access": string;
  readonly "x-problems"?: readonly string[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content } | Reference>>;
}

/** As much of the OpenAPI document as is read here. */
export interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

/** An operation with what is derived from it. */
interface Described {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly group: string;
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly body: BodyDescription | null;
  readonly reply: { readonly kind: "json" | "empty" | "bytes"; readonly type: string };
}

interface BodyDescription {
  /** `either`: JSON, or content that is sent as it is. */
  readonly kind: "json" | "form" | "content" | "either";
  readonly type: string;
  readonly isOptional: boolean;
  /** Of content, unless the caller names another. */
  readonly mediaType?: string;
}

const notice = "// GENERATED from openapi.json by `npm run generate`. Do not edit.";

/** The text of `sdks/typescript/src/schemas.generated.ts`: the types of the document's schemas. */
export function typescriptSchemas({ info, components }: Document): string {
  const version = `/** The version of the API that this client was made from. */\nexport const apiVersion = ${JSON.stringify(info.version)};`;
  const schemas = Object.entries(components.schemas).map(([name, schema]) => namedType(name, schema));
  return [notice, version, ...schemas, ""].join("\n\n");
}

/** The text of `sdks/typescript/src/api.generated.ts`: the type and the table of the operations. */
export function typescriptClient(document: Document): string {
  const operations = describe(document);
  const api = apiType(operations);
  const names = Object.keys(document.components.schemas).filter((name) => new RegExp(`\\b${name}\\b`).test(api));
  const helpers = ["BytesOperation", "CallOptions", "ListOperation", "Operation", "ReadOperation"];
  const streams = api.includes("RequestBody") ? [`import type { RequestBody } from "./streams.ts";`] : [];
  return [
    notice,
    `import type { ${helpers.join(", ")} } from "./operation.ts";\nimport type {\n${names.map((name) => `  ${name},`).join("\n")}\n} from "./schemas.generated.ts";${streams.map((line) => `\n${line}`).join("")}`,
    api,
    table(operations),
    "",
  ].join("\n\n");
}

function describe(document: Document): readonly Described[] {
  const seen = new Set<string>();
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const [group = "", name = ""] = operation.operationId.split(".").map(camelCase);
      if (seen.has(`${group}.${name}`)) throw new Error(`two operations are called ${group}.${name}`);
      seen.add(`${group}.${name}`);
      const parameters = (operation.parameters ?? []).map((one) => resolved(one, document));
      refuseClash(operation, parameters);
      const body = bodyOf(operation, document);
      return {
        operation,
        method: method.toUpperCase(),
        path,
        group,
        name,
        parameters,
        body,
        reply: replyOf(operation),
      };
    }),
  );
}

function resolved(one: Parameter | Reference, { components }: Document): Parameter {
  if (!("$ref" in one)) return one;
  const found = components.parameters[nameOf(one.$ref)];
  if (found === undefined) throw new Error(`${one.$ref} leads nowhere`);
  return found;
}

/** Path and query share one object with the body. */
function refuseClash({ operationId }: Operation, parameters: readonly Parameter[]): void {
  const names = parameters.filter(({ in: place }) => place !== "header").map(({ name }) => name);
  if (new Set([...names, "body"]).size !== names.length + 1)
    throw new Error(`${operationId}: a parameter is named twice`);
}

function bodyOf({ requestBody }: Operation, { components }: Document): Described["body"] {
  const all = Object.entries(requestBody?.content ?? {});
  const [content] = all.filter(([, one]) => one.schema?.format === "binary");
  const [[type, { schema }] = ["", { schema: undefined }]] = all;
  if (schema === undefined) return null;
  if (content !== undefined) {
    const isOnly = schema.format === "binary";
    const types = isOnly ? "RequestBody" : `${typeOf(schema, true)} | RequestBody`;
    return { kind: isOnly ? "content" : "either", type: types, isOptional: false, mediaType: content[0] };
  }
  const target = schema.$ref === undefined ? schema : components.schemas[nameOf(schema.$ref)];
  const kind = type === "application/json" ? "json" : "form";
  return { kind, type: typeOf(schema, true), isOptional: (target?.required ?? []).length === 0 };
}

function replyOf({ operationId, responses }: Operation): Described["reply"] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const replies = successes.map(([, response]) => replyKind(("content" in response && response.content) || {}));
  const kinds = new Set(replies.map(({ kind }) => kind));
  const [reply = { kind: "empty", type: "void" } as const] = replies;
  // A whole answer and a part of it are both bytes; JSON of several shapes, or none, is a union.
  if (kinds.size <= 1 && kinds.has("bytes")) return reply;
  if (kinds.has("bytes")) throw new Error(`${operationId} answers with bytes and with JSON`);
  const types = [...new Set(replies.map(({ type }) => type))].map((type) =>
    kinds.size > 1 && type === "void" ? "undefined" : type,
  );
  return { kind: kinds.has("json") ? "json" : "empty", type: types.join(" | ") || "void" };
}

function replyKind(content: Content): Described["reply"] {
  const [[type, { schema }] = ["", { schema: undefined }], ...others] = Object.entries(content);
  if (type === "" && others.length === 0) return { kind: "empty", type: "void" };
  if (type !== "application/json") return { kind: "bytes", type: "" };
  return { kind: "json", type: schema === undefined ? "unknown" : typeOf(schema, false) };
}

function namedType(name: string, schema: Schema): string {
  const words = comment(schema.description === undefined ? [] : [schema.description], "");
  const type = typeOf({ ...schema, description: "" }, isClosed(schema));
  return type.startsWith("{") ? `${words}export interface ${name} ${type}` : `${words}export type ${name} = ${type};`;
}

/** Requests are closed in the document, answers are open. */
function isClosed({ additionalProperties }: Schema): boolean {
  return additionalProperties === false;
}

/** The TypeScript type of a schema. Lists of values in answers can grow, so they also allow other texts. */
function typeOf(schema: Schema, isRequest: boolean, indent = ""): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(each, isRequest, indent)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    return isRequest || schema.enum.length === 1 ? values : `${values} | (string & {})`;
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return arrayOf(typeOf(schema.items ?? {}, isRequest, indent));
    case "object":
      return objectOf(schema, isRequest || isClosed(schema), indent);
    default:
      return "unknown";
  }
}

function arrayOf(item: string): string {
  return /[ |{]/.test(item) ? `readonly (${item})[]` : `readonly ${item}[]`;
}

function objectOf(schema: Schema, isRequest: boolean, indent: string): string {
  const { properties, required = [], patternProperties, additionalProperties } = schema;
  if (properties === undefined) {
    const [value] = Object.values(patternProperties ?? {});
    const other = typeof additionalProperties === "object" ? additionalProperties : value;
    return `{ readonly [name: string]: ${other === undefined ? "unknown" : typeOf(other, isRequest, indent)} }`;
  }
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, each]) => {
    const words = comment(each.description ? [each.description] : [], inner);
    // With `undefined`, so that callers who set exactOptionalPropertyTypes can pass on what they have.
    const mark = required.includes(name)
      ? `: ${typeOf(each, isRequest, inner)}`
      : `?: ${typeOf(each, isRequest, inner)} | undefined`;
    return `${words}${inner}readonly ${key(name)}${mark};`;
  });
  return members.length === 0 ? "Record<string, never>" : `{\n${members.join("\n")}\n${indent}}`;
}

/** The interface of the client: a group for each noun, a function for each verb. */
function apiType(operations: readonly Described[]): string {
  const groups = Map.groupBy(operations, ({ group }) => group);
  const members = [...groups].map(([group, list]) => {
    const functions = list.map((one) => `${operationWords(one)}    readonly ${one.name}: ${operationType(one)};`);
    return `  readonly ${group}: {\n${functions.join("\n")}\n  };`;
  });
  return `/** Every operation of the API. */\nexport interface EmanetApi {\n${members.join("\n")}\n}`;
}

function operationWords({ operation, method, path }: Described): string {
  const codes = (operation["x-problems"] ?? []).map((code) => `\`${code}\``).join(", ");
  const lines = [
    `${operation.summary}. \`${method} ${path}\``,
    "",
    operation.description,
    ...(codes === "" ? [] : ["", `@throws ProblemError with ${codes}, or a code of every operation.`]),
    ...(operation.deprecated === true ? ["@deprecated It will be removed."] : []),
  ];
  return comment(lines, "    ");
}

function operationType(one: Described): string {
  const params = paramsOf(one);
  const { kind, type } = one.reply;
  const needsMatch = one.parameters.some(({ name, required }) => name === "If-Match" && required === true);
  const options = needsMatch ? ", CallOptions & { readonly ifMatch: string }" : "";
  if (kind === "bytes") return `BytesOperation<${params}>`;
  if (isList(one)) return `ListOperation<${params}, ${type}, ${type}["data"][number]>`;
  return `${one.method === "GET" ? "ReadOperation" : "Operation"}<${params}, ${type}${options}>`;
}

function paramsOf({ parameters, body }: Described): string {
  const own = parameters
    .filter(({ in: place }) => place !== "header")
    .map(({ name, required, description = "", schema, "x-multi-segment": isRest }) => {
      const words = comment([description], "      ");
      const type = isRest ? "string | Uint8Array" : typeOf(schema, true, "      ");
      return `${words}      readonly ${key(name)}${required === true ? `: ${type}` : `?: ${type} | undefined`};`;
    });
  const ofBody = body === null ? [] : [`      readonly body${body.isOptional ? "?" : ""}: ${body.type};`];
  const all = [...own, ...ofBody];
  return all.length === 0 ? "Record<string, never>" : `{\n${all.join("\n")}\n    }`;
}

function isList({ method, parameters }: Described): boolean {
  return method === "GET" && parameters.some(({ name, in: place }) => place === "query" && name === "cursor");
}

/** What the client needs at run time, one line for each operation. */
function table(operations: readonly Described[]): string {
  const rows = operations.map(({ operation, method, path, group, name, parameters, body, reply }) => {
    const query = parameters.filter(({ in: place }) => place === "query").map((one) => one.name);
    const spec = {
      method,
      path,
      ...(query.length > 0 && { query }),
      ...(parameters.some((one) => one["x-multi-segment"]) && { rest: true }),
      ...(body !== null && { body: body.kind }),
      ...(body?.mediaType !== undefined && { mediaType: body.mediaType }),
      ...(parameters.some((one) => one.name === "Idempotency-Key") && { keyed: true }),
      reply: reply.kind,
      ...(operation["x-access"] === "public" && { anonymous: true }),
    };
    return `  ${JSON.stringify(`${group}.${name}`)}: ${JSON.stringify(spec)},`;
  });
  return `/** By group and name. */\nexport const operations = {\n${rows.join("\n")}\n} as const;`;
}

function comment(lines: readonly string[], indent: string): string {
  const text = lines.map((line) => line.replaceAll("*/", "*\\/"));
  if (text.join("").trim() === "") return "";
  if (text.length === 1) return `${indent}/** ${text[0]} */\n`;
  return `${indent}/**\n${text.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function nameOf(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

function camelCase(text: string): string {
  return text.replaceAll(/[_-](\w)/g, (_, letter: string) => letter.toUpperCase());
}
