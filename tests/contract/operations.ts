/** Reads the operations of the OpenAPI document for the tests that run over all of them. */

import { apiDocument } from "../../packages/server/src/endpoints.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly "x-access": "public" | "account" | "person" | "staff" | "share";
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: object }>>;
}

type Stored = Omit<Operation, "method" | "path" | "parameters"> & {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
};

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Stored>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

/** Every operation, also the pages for people, which the published document leaves out. */
export function readOperations(): readonly Operation[] {
  const document = apiDocument({ complete: true }) as unknown as Document;
  const resolve = (one: Parameter | { readonly $ref: string }) => {
    const found = "$ref" in one ? document.components.parameters[one.$ref.split("/").at(-1) ?? ""] : one;
    if (found === undefined) throw new Error(`a parameter leads nowhere: ${JSON.stringify(one)}`);
    return found;
  };
  return Object.entries(document.paths).flatMap(([place, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      parameters: (operation.parameters ?? []).map(resolve),
      method: method.toUpperCase(),
      path: place,
    })),
  );
}

export function takes(operation: Operation, header: string): boolean {
  return operation.parameters.some((one) => one.in === "header" && one.name === header);
}
