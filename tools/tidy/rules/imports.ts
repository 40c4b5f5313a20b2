// Who may import whom. Two tables hold the whole of it: what each room may use, and the order of the domains
// (../rooms.ts). Rules about place only; cycles are found by cycles.ts.

import path from "node:path";
import {
  declarationFiles,
  domains,
  endpointListOf,
  isEndpoint,
  isProduction,
  isTestCode,
  type Room,
  roomOf,
  workspaceOf,
} from "../rooms.ts";
import type { Finding, Rule } from "../rule.ts";
import type { Import, Source, Tree } from "../tree.ts";

type Kind = Room["kind"];

/** What production code of each room may import besides its own room. */
const uses: Readonly<Record<Kind, readonly Kind[]>> = {
  engine: [],
  storage: ["engine"],
  "engine-cli": ["engine", "storage"],
  sdk: [],
  agent: ["engine", "sdk"],
  dashboard: ["sdk"],
  config: ["kernel"],
  kernel: ["config", "engine", "storage"],
  declarations: ["kernel", "domain"],
  domain: ["kernel", "config", "declarations", "engine", "storage"],
  composition: ["kernel", "config", "declarations", "domain", "engine", "storage"],
  tools: [
    "engine",
    "storage",
    "engine-cli",
    "sdk",
    "agent",
    "dashboard",
    "kernel",
    "config",
    "declarations",
    "domain",
    "composition",
    "bench",
    "tests",
  ],
  bench: [
    "engine",
    "storage",
    "engine-cli",
    "sdk",
    "agent",
    "kernel",
    "config",
    "declarations",
    "domain",
    "composition",
    "tests",
    "tools",
  ],
  tests: [
    "engine",
    "storage",
    "engine-cli",
    "sdk",
    "agent",
    "dashboard",
    "kernel",
    "config",
    "declarations",
    "domain",
    "composition",
    "tools",
    "bench",
  ],
};

export const roomRule: Rule = {
  name: "rooms",
  about:
    "Imports go downwards: engine → nothing of ours; storage → engine; the engine's command → engine and storage; kernel → no domain; declarations.ts → kernel and the declaration files of domains; a domain → kernel, declarations.ts, engine, storage and the index.ts of domains before it; agent → engine and SDK; dashboard → SDK; SDKs → nothing of ours.",
  check: (tree) => eachImport(tree, roomFinding),
};

export const domainListRule: Rule = {
  name: "domain list",
  about: "Every folder under packages/server/src is a domain with a place in the ordered list in tools/tidy/rooms.ts.",
  check: (tree) => {
    const found = new Map<string, string>();
    for (const file of tree.files.keys()) {
      const room = roomOf(file);
      if (room?.kind === "domain") found.set(room.name, found.get(room.name) ?? file);
    }
    return [...found]
      .filter(([name]) => !domains.includes(name))
      .map(([name, file]) => ({
        file,
        line: 1,
        message: `the domain ${name} has no place in the list in tools/tidy/rooms.ts; add it after all domains that it uses`,
      }));
  },
};

export const endpointImportRule: Rule = {
  name: "endpoint imports",
  about: "Only the list of its domain (endpoints/index.ts) imports an endpoint: an endpoint is called by a request.",
  check: (tree) =>
    eachImport(tree, (source, one) => {
      if (!isEndpoint(one.target) || source.file === endpointListOf(one.target) || isTestCode(source.file))
        return undefined;
      return `imports the endpoint ${one.target}; move what is shared behind the domain's index.ts`;
    }),
};

export const testImportRule: Rule = {
  name: "test imports",
  about: "Production code never imports tests or what exists for tests.",
  check: (tree) =>
    eachImport(tree, (source, one) => {
      if (!isProduction(source.file) || !isTestCode(one.target)) return undefined;
      return `imports test code ${one.target}; production code must work without it; a file that is itself for tests belongs in a folder named testing`;
    }),
};

export const packageNameRule: Rule = {
  name: "package names",
  about: "A package is imported by its name, never by a path that leaves the package.",
  check: (tree) =>
    eachImport(tree, (source, one) => {
      const from = workspaceOf(source.file);
      if (from === "" || from === workspaceOf(one.target) || !one.specifier.startsWith(".")) return undefined;
      return `reaches out of ${from} with ${one.specifier}; import the other package by its name`;
    }),
};

export const dependencyRule: Rule = {
  name: "dependencies",
  about: "What a package imports stands in its own package.json; only tests may use devDependencies.",
  check: (tree) =>
    tree.sources.flatMap((source) =>
      source.imports.flatMap(({ specifier, line, target }) => {
        const name = packageName(specifier);
        if (name === undefined || declared(tree, source.file, name)) return [];
        if (target !== undefined && !isProduction(source.file)) return [];
        const manifest = path.posix.join(workspaceOf(source.file), "package.json");
        return [
          { file: source.file, line, message: `imports ${name}, which ${manifest} does not list under dependencies` },
        ];
      }),
    ),
};

/** Asks about every import of something of ours. */
function eachImport(
  tree: Tree,
  ask: (source: Source, one: Import & { readonly target: string }) => string | undefined,
): Finding[] {
  return tree.sources.flatMap((source) =>
    source.imports.flatMap((one) => {
      const { target } = one;
      if (target === undefined) return [];
      const message = ask(source, { ...one, target });
      return message === undefined ? [] : [{ file: source.file, line: one.line, message }];
    }),
  );
}

function roomFinding(source: Source, { target }: { readonly target: string }): string | undefined {
  const from = roomOf(source.file);
  const to = roomOf(target);
  if (from === undefined || to === undefined) return undefined;
  // Tests look into every corner of their own package, but a package does not grow a dependency through its tests.
  if (isTestCode(source.file) && workspaceOf(source.file) === workspaceOf(target)) return undefined;
  if (from.kind === "domain" && to.kind === "domain") return domainFinding(from.name, to.name, target);
  if (from.kind === to.kind || uses[from.kind].includes(to.kind)) {
    if (from.kind === "declarations" && to.kind === "domain" && !isDeclaration(target)) {
      return `imports ${target}, which declares no names; it may import ${declarationFiles.join(", ")} of a domain only`;
    }
    const inside = from.kind === "composition" && to.kind === "domain" && !isFace(target);
    return inside ? `imports ${target}, the inside of a domain; import its index.ts` : undefined;
  }
  return `${from.kind} imports ${to.kind} (${target}); it may import ${[from.kind, ...uses[from.kind]].join(", ")} only`;
}

function domainFinding(from: string, to: string, target: string): string | undefined {
  if (from === to) return undefined;
  if (domains.indexOf(to) > domains.indexOf(from)) {
    return `the domain ${from} imports ${to}, which comes after it (tools/tidy/rooms.ts); turn the dependency round, or let an event carry it`;
  }
  return isFace(target) ? undefined : `imports ${target}, the inside of another domain; import its index.ts`;
}

function isDeclaration(file: string): boolean {
  return declarationFiles.includes(path.posix.basename(file));
}

function isFace(file: string): boolean {
  return path.posix.basename(file) === "index.ts";
}

/** `@scope/name/file` → `@scope/name`; `undefined` for files and for what Node brings. */
function packageName(specifier: string): string | undefined {
  if (specifier.startsWith(".") || specifier.startsWith("node:")) return undefined;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function declared(tree: Tree, file: string, name: string): boolean {
  const own = tree.manifests.get(workspaceOf(file)) ?? {};
  const lists = [own.dependencies, own.optionalDependencies];
  if (!isProduction(file)) {
    lists.push(own.devDependencies);
    // What stands beside the packages may use whatever they use.
    for (const manifest of workspaceOf(file) === "" ? tree.manifests.values() : [tree.manifests.get("") ?? {}]) {
      lists.push(manifest.dependencies, manifest.devDependencies);
    }
  }
  return lists.some((one) => one !== undefined && Object.hasOwn(one, name));
}
