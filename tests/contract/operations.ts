/** Reads the operations of the OpenAPI document for the tests that run over all of them. */

import { readFile } from "node:fs/promises";
import path from "node:path";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly "x-access": "public" | "account" | "person" | "staff";
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: object }>>;
}

type Stored = Omit<Operation, "method" | "path" | "parameters"> & { readonly parameters?: readonly Parameter[] };

export async function readOperations(): Promise<readonly Operation[]> {
  const file = path.resolve(import.meta.dirname, "../../openapi.json");
  const document = JSON.parse(await readFile(file, "utf8")) as { paths: Record<string, Record<string, Stored>> };
  return Object.entries(document.paths).flatMap(([place, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      parameters: [],
      ...operation,
      method: method.toUpperCase(),
      path: place,
    })),
  );
}

export function takes(operation: Operation, header: string): boolean {
  return operation.parameters.some((one) => one.in === "header" && one.name === header);
}
