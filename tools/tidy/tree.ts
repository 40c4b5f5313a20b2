// What the rules look at: all files of the checkout that git would take, and for those in TypeScript or JavaScript
// their syntax and their imports. A test builds the same from a few lines of text.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { type Comment, child, list, type Node, nameOf, parseModule, walk } from "./ast.ts";

/** A tracked file larger than this is data, not something a person wrote. */
const readLimitBytes = 2 * 1024 * 1024;
/** Names of some hundred thousand files. */
const listLimitBytes = 32 * 1024 * 1024;

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Imported or re-exported names; empty for a namespace or a bare import. */
  readonly names: readonly string[];
  /** Path in this repository of what is imported, when it is ours. */
  readonly target: string | undefined;
}

export interface Source {
  readonly file: string;
  readonly lines: readonly string[];
  readonly program: Node;
  readonly comments: readonly Comment[];
  readonly imports: readonly Import[];
}

/** The parts of a package.json that the rules use. */
export interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Tree {
  /** Text of every file, by its path with `/`. */
  readonly files: ReadonlyMap<string, string>;
  readonly sources: readonly Source[];
  /** Every package.json, by its folder; the repository's own is `""`. */
  readonly manifests: ReadonlyMap<string, Manifest>;
  /** Sources that the parser refused. */
  readonly unreadable: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

/** What is never part of the checkout; only asked where git cannot tell. */
const ignoredFolders: ReadonlySet<string> = new Set([".git", ".cache", "node_modules", "data"]);

/** Reads a checkout: what is tracked, and what is new and not ignored. */
export function readTree(root: string): Tree {
  const files = new Map<string, string>();
  for (const file of listByGit(root) ?? listByFolder(root)) {
    const text = readText(path.join(root, file));
    if (text !== undefined) files.set(file, text);
  }
  return treeOf(files);
}

/** `undefined` where there is no git or no repository (an unpacked archive). */
function listByGit(root: string): Iterable<string> | undefined {
  // Listing names is harmless in anybody's repository: tests also run as a user who does not own it.
  const args = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: listLimitBytes });
  return status === 0 ? new Set(stdout.split("\0").filter((file) => file !== "")) : undefined;
}

function listByFolder(root: string, inside = ""): string[] {
  return readdirSync(path.join(root, inside), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(inside, entry.name);
    if (!entry.isDirectory()) return [file];
    return ignoredFolders.has(entry.name) ? [] : listByFolder(root, file);
  });
}

/** Makes a tree of texts by path. */
export function treeOf(files: ReadonlyMap<string, string>): Tree {
  const manifests = new Map<string, Manifest>();
  for (const [file, text] of files) {
    if (path.posix.basename(file) !== "package.json") continue;
    const folder = path.posix.dirname(file);
    manifests.set(folder === "." ? "" : folder, JSON.parse(text) as Manifest);
  }
  const sources: Source[] = [];
  const unreadable: { file: string; line: number; message: string }[] = [];
  for (const [file, text] of files) {
    if (!/\.(?:ts|tsx|mts|js|jsx|mjs)$/.test(file)) continue;
    try {
      sources.push(sourceOf(file, text, manifests));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      unreadable.push({ file, line: lineOfSyntaxError(error), message: error.message });
    }
  }
  return { files, sources, manifests, unreadable };
}

/** Removed files are still tracked, and binary ones have no lines: neither is read. */
function readText(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || stats.size > readLimitBytes) return undefined;
  const content = readFileSync(file);
  return content.includes(0) ? undefined : content.toString("utf8");
}

function sourceOf(file: string, text: string, manifests: ReadonlyMap<string, Manifest>): Source {
  const { program, comments } = parseModule(text, file.endsWith("x"));
  const imports: Import[] = [];
  walk(program, (node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return;
    const names = list(node, "specifiers").map((one) => nameOf(child(one, "imported") ?? child(one, "local")) ?? "");
    imports.push({ specifier, line: node.loc.start.line, names, target: resolve(file, specifier, manifests) });
  });
  return { file, lines: text.split("\n"), program, comments, imports };
}

/** What an import, a re-export, an `import()` or a type `import("…")` names, when it is written out. */
function specifierOf(node: Node): string | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType": {
      const source = child(node, "source") ?? child(node, "argument");
      // The name of a variable is not the name of a package.
      return source?.type === "Identifier" ? undefined : nameOf(source);
    }
    default:
      return undefined;
  }
}

function resolve(from: string, specifier: string, manifests: ReadonlyMap<string, Manifest>): string | undefined {
  if (specifier.startsWith(".")) return path.posix.join(path.posix.dirname(from), specifier);
  for (const [folder, { name }] of manifests) {
    if (name === undefined) continue;
    if (specifier === name) return `${folder}/src/index.ts`;
    if (specifier.startsWith(`${name}/`)) return `${folder}/src/${specifier.slice(name.length + 1)}`;
  }
  return undefined;
}

function lineOfSyntaxError(error: SyntaxError): number {
  const { loc } = error as SyntaxError & { readonly loc?: { readonly line?: number } };
  return loc?.line ?? 1;
}
