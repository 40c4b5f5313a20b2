/**
 * Checks answers against the OpenAPI document: an undeclared status, header, media type, field or error code fails the
 * test, whatever the test itself checks.
 */

import assert from "node:assert/strict";
import { Ajv2020, type AnySchema, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { JsonObject } from "../kernel/http/openapi.ts";
import type { TestAnswer } from "./https.ts";

interface Response {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
  readonly parameters?: readonly { readonly "x-multi-segment"?: true }[];
  readonly "x-problems"?: readonly string[];
}

interface Problems {
  readonly everywhere: readonly string[];
  readonly statuses: Readonly<Record<string, number>>;
}

/** Headers of the connection and of safety, which the document does not list. */
const unlisted = new Set(
  "cache-control connection content-encoding content-language content-length content-security-policy content-type cross-origin-opener-policy date keep-alive pragma referrer-policy strict-transport-security transfer-encoding x-content-type-options x-frame-options allow vary".split(
    " ",
  ),
);

/** Statuses that belong to the address or the connection and to no operation. */
const outsideOperations = new Set([404, 405]);

export type DocumentCheck = (method: string, path: string, answer: TestAnswer) => void;

export function documentCheck(document: JsonObject, aliases: Readonly<Record<string, string>> = {}): DocumentCheck {
  // Linters judge the document itself; here it is only used, and of it what references can lead to.
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false });
  formats.default(ajv);
  ajv.addSchema({ components: document.components } as AnySchema, "document");
  const compiled = new Map<unknown, ValidateFunction>();
  const compile = (schema: unknown): ValidateFunction => {
    const known = compiled.get(schema);
    if (known) return known;
    const made = ajv.compile(withAbsoluteRefs(schema) as object);
    compiled.set(schema, made);
    return made;
  };
  const find = pathFinder(document.paths as Readonly<Record<string, Operations>>, aliases);
  const shared = (document.components as { responses?: Readonly<Record<string, Response>> }).responses ?? {};
  const resolve = (response: Operation["responses"][string] | undefined): Response | undefined =>
    response !== undefined && "$ref" in response ? shared[response.$ref.split("/").at(-1) ?? ""] : response;
  const problems = document["x-problems"] as Problems;
  const problem = { $ref: "#/components/schemas/Problem" };
  const oauthError = { $ref: "#/components/schemas/OauthError" };
  return (method, path, answer) => {
    const verb = (method === "HEAD" ? "GET" : method).toLowerCase();
    const [bare = ""] = path.split("?");
    const operation = find(bare)?.[verb];
    if (operation === undefined || (outsideOperations.has(answer.status) && !(answer.status in operation.responses))) {
      const form = path.startsWith("/oauth2/") ? oauthError : problem;
      return checkBody(compile(form), `${method} ${answer.status}`, answer);
    }
    const where = `${operation.operationId} ${answer.status}`;
    const response = resolve(operation.responses[answer.status]);
    assert.ok(response, `${where} is not in the document`);
    checkHeaders(where, response, answer);
    if (method === "HEAD" || answer.body.length === 0) return;
    const type = (answer.headers["content-type"] ?? "").split(";")[0] ?? "";
    const content = response.content?.[type];
    assert.ok(content, `${where} has media type ${type}, which the document lacks`);
    if (content.schema !== undefined && !isBinary(content.schema)) checkBody(compile(content.schema), where, answer);
    if (type === "application/problem+json") checkCode(problems, operation, answer);
  };
}

/** The operation declares the code, and the code has this status. */
function checkCode({ everywhere, statuses }: Problems, operation: Operation, answer: TestAnswer): void {
  const { code } = JSON.parse(answer.body.toString()) as { code: string };
  const declared = [...everywhere, ...(operation["x-problems"] ?? [])];
  assert.ok(declared.includes(code), `${operation.operationId} answers ${code}, which the document lacks`);
  assert.equal(statuses[code], answer.status, `${operation.operationId}: status of ${code}`);
}

function checkBody(validate: ValidateFunction, where: string, answer: TestAnswer): void {
  if (answer.body.length === 0) return;
  const valid = validate(JSON.parse(answer.body.toString()));
  assert.ok(valid, `${where} differs from the document: ${JSON.stringify(validate.errors)}`);
}

/** Headers that every answer must have. */
const everyAnswer = [
  "x-request-id",
  ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit", "ratelimit-policy"],
];

function checkHeaders(where: string, response: Response, answer: TestAnswer): void {
  const declared = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  for (const name of Object.keys(answer.headers)) {
    assert.ok(unlisted.has(name) || declared.has(name), `${where} sends ${name}, which the document lacks`);
  }
  for (const name of everyAnswer) {
    assert.ok(name in answer.headers, `${where} lacks ${name}`);
  }
}

type Operations = Readonly<Record<string, Operation>>;

/** Finds the operations of a path in any spelling. The forms are compiled once: there are hundreds. */
function pathFinder(
  paths: Readonly<Record<string, Operations>>,
  aliases: Readonly<Record<string, string>>,
): (bare: string) => Operations | undefined {
  const hasRest = (operations: Operations) =>
    Object.values(operations).some(({ parameters }) => parameters?.some((one) => one["x-multi-segment"] === true));
  const documented = Object.entries(paths).map(([template, operations]) => ({
    form: formOf(hasRest(operations) ? template.replace(/\{(\w+)\}$/, "{$1+}") : template),
    operations,
  }));
  const others = Object.entries(aliases).map(([template, path]) => ({ form: formOf(template), path }));
  return (bare) => {
    const path = documentedPath(others, bare);
    if (Object.hasOwn(paths, path)) return paths[path];
    return documented.find(({ form }) => form.test(path))?.operations;
  };
}

/** The documented path of a path in another spelling. */
function documentedPath(others: readonly { readonly form: RegExp; readonly path: string }[], bare: string): string {
  const alias = others.find(({ form }) => form.test(bare));
  if (alias === undefined) return bare;
  const values = alias.form.exec(bare)?.slice(1) ?? [];
  return alias.path.replaceAll(/\{\w+\+?\}/g, () => values.shift() ?? "");
}

function formOf(template: string): RegExp {
  const parameter = (text: string) => (text.endsWith("+}") ? "(.*)" : "([^/]+)");
  return new RegExp(`^${template.replaceAll(/\{\w+\+?\}/g, parameter)}$`);
}

/** Content is no JSON. */
function isBinary(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "format" in schema && schema.format === "binary";
}

/** References inside the document, as seen from a schema that was taken out of it. */
function withAbsoluteRefs(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'));
}
