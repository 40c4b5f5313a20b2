// Where a file belongs. A *room* is a part of the house with its own rules (docs/ARCHITECTURE.md): the engine, the
// kernel, one domain, the tools. Every rule that depends on place asks here, so that "what is a test" has one answer.

import path from "node:path";

export type Room =
  | { readonly kind: "engine" | "storage" | "agent" | "dashboard" | "sdk" }
  /** The engine's own command: joins engine and storage, and knows nothing of the service. */
  | { readonly kind: "engine-cli" }
  /** Below every domain, and blind to them. */
  | { readonly kind: "kernel" }
  /** The table of settings, the only reader of the environment. */
  | { readonly kind: "config" }
  /** Collects the names that domains declare. It imports declaration files alone, so that every domain may import it. */
  | { readonly kind: "declarations" }
  /** Files directly under packages/server/src: they put the service together. */
  | { readonly kind: "composition" }
  | { readonly kind: "domain"; readonly name: string }
  /** Code beside the product: it may use all of it, the product none of it. */
  | { readonly kind: "tools" | "bench" | "tests" };

/** The only file that may import an endpoint: the list of its domain, `<domain>/endpoints/index.ts`. */
export function endpointListOf(endpoint: string): string {
  return path.posix.join(path.posix.dirname(endpoint), "index.ts");
}

/** The files in which a domain declares names; they import the kernel and each other. */
export const declarationFiles: readonly string[] = ["problems.ts", "policies.ts", "scopes.ts", "roles.ts", "paths.ts"];

/** Clock and randomness live here and nowhere else. */
export const clockFile = "packages/server/src/kernel/clock.ts";

/** The engine's command has no kernel below it: its main.ts hands out the clock, randomness and the environment. */
export const engineCommand = "packages/engine-cli/src/main.ts";

/**
 * Domains of the server in the order in which they may use each other: a domain sees only the faces of those before
 * it. A new folder under packages/server/src gets its place here. `audit` and `webhooks` are fed by what a transaction
 * recorded, so they come last and nobody needs them.
 */
export const domains: readonly string[] = [
  "identifiers",
  "pages",
  "docs",
  "health",
  "messages",
  "accounts",
  "limits",
  "keys",
  "identity",
  "applications",
  "oauth",
  "first-run",
  "admin",
  "sandbox",
];

const serverSource = "packages/server/src/";

/** The room of a file, or `undefined` for files that no rule about rooms speaks of. */
export function roomOf(file: string): Room | undefined {
  const [first = "", second = ""] = file.split("/");
  if (first === "tools" || first === "bench" || first === "tests") return { kind: first };
  if (first === "sdks") return { kind: "sdk" };
  if (first !== "packages") return undefined;
  if (second === "engine" || second === "storage" || second === "engine-cli") return { kind: second };
  if (second === "agent" || second === "dashboard") return { kind: second };
  return file.startsWith(serverSource) ? serverRoom(file.slice(serverSource.length)) : undefined;
}

function serverRoom(inside: string): Room {
  const [folder = "", ...rest] = inside.split("/");
  if (folder === "config.ts") return { kind: "config" };
  if (folder === "declarations.ts" || folder === "planned-domains.ts") return { kind: "declarations" };
  if (rest.length === 0) return { kind: "composition" };
  if (folder === "kernel") return { kind: "kernel" };
  if (folder === "testing") return { kind: "composition" };
  return { kind: "domain", name: folder };
}

/** Whether a file exists for tests alone: a test, a folder or file named testing, or the whole-system tests. */
export function isTestCode(file: string): boolean {
  return (
    file.startsWith("tests/") ||
    /\.test\.[a-z]+$/.test(file) ||
    file.split("/").some((part) => part === "testing" || part === "testing.ts")
  );
}

/** Whether a file is part of what customers run. */
export function isProduction(file: string): boolean {
  return (file.startsWith("packages/") || file.startsWith("sdks/")) && !isTestCode(file);
}

export function isGenerated(file: string): boolean {
  return /\.generated\.[a-z]+$/.test(file);
}

/** Whether a file is one endpoint: `packages/server/src/<domain>/endpoints/<name>.ts`. */
export function isEndpoint(file: string): boolean {
  const [name, folder] = file.split("/").reverse();
  return file.startsWith(serverSource) && folder === "endpoints" && name !== "index.ts" && !isTestCode(file);
}

/** The workspace a file is in: `packages/server`, `sdks/typescript`, or the repository itself (`""`). */
export function workspaceOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return first === "packages" || first === "sdks" ? `${first}/${second}` : "";
}
