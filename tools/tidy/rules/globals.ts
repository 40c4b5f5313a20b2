// Globals that stay in their rooms. Code that reads the clock, draws a number, looks at the environment or ends the
// process by itself cannot be tested and cannot be moved; it gets these as arguments. One row is one global.

import { child, dotted, list, nodesOf, walk } from "../ast.ts";
import { clockFile, engineCommand, isTestCode } from "../rooms.ts";
import { type Rule, sourceRule } from "../rule.ts";
import type { Source } from "../tree.ts";

interface Row {
  readonly name: string;
  readonly about: string;
  readonly allowed: (file: string) => boolean;
  /** What to do instead. */
  readonly instead: string;
  /** Lines on which the source uses it. */
  readonly uses: (source: Source) => readonly number[];
}

const randomNames: ReadonlySet<string> = new Set([
  ...["randomBytes", "randomInt", "randomUUID", "randomUUIDv7", "randomFill", "randomFillSync", "getRandomValues"],
]);

const rows: readonly Row[] = [
  {
    name: "environment",
    about: "process.env is read in packages/*/src/config.ts, the engine's command, tools, bench and test code only.",
    allowed: (file) =>
      beside(file) || isTestCode(file) || file === engineCommand || /^packages\/[^/]+\/src\/config\.ts$/.test(file),
    instead: "add a setting to config.ts and pass its value in",
    uses: (source) => [...members(source, (name) => name === "process.env" || name.startsWith("process.env."))],
  },
  {
    name: "clock",
    about:
      "Date.now, new Date() without arguments, performance.now, process.hrtime and Temporal.Now are used in kernel/clock.ts, the engine's command, tools, bench and test code only; engine and storage have no clock.",
    allowed: (file) => beside(file) || isTestCode(file) || file === clockFile || file === engineCommand,
    instead: "take a Clock as an argument",
    uses: (source) => [...members(source, isClock), ...bareDates(source)],
  },
  {
    name: "randomness",
    about:
      "Math.random and the random functions of crypto are used in kernel/clock.ts, the engine's command, tools, bench and test code only; engine and storage draw nothing.",
    allowed: (file) => beside(file) || isTestCode(file) || file === clockFile || file === engineCommand,
    instead: "take a Random as an argument",
    uses: (source) => [...members(source, isRandom), ...randomImports(source)],
  },
  {
    name: "console",
    about: "console is for tools and bench; the service logs through its Log.",
    allowed: beside,
    instead: "log through the Log that is passed in",
    uses: (source) => [...members(source, (name) => name.startsWith("console."))],
  },
  {
    name: "exit",
    about:
      "process.exit and process.abort are for main.ts and tools: whoever ends the process skips everybody's clean-up.",
    allowed: (file) => beside(file) || /^packages\/[^/]+\/src\/main\.ts$/.test(file),
    instead: "throw, and let main.ts decide",
    uses: (source) => [...members(source, (name) => name === "process.exit" || name === "process.abort")],
  },
  {
    name: "standard output",
    about:
      "process.stdout is for main.ts, tools and the agent: the service's standard output is read by programs. process.stderr is also for kernel/log.ts.",
    allowed: (file) =>
      beside(file) || /^packages\/[^/]+\/src\/main\.ts$/.test(file) || file.startsWith("packages/agent/"),
    instead: "return the text, or log it",
    uses: (source) => [...members(source, (name) => isOutput(name, source.file))],
  },
  {
    name: "process import",
    about: "process is used as a global, never imported, so that the rules about it cannot be walked around.",
    allowed: () => false,
    instead: "use the global process",
    uses: ({ imports }) => imports.filter(({ specifier }) => specifier === "node:process").map(({ line }) => line),
  },
];

export const globalRules: readonly Rule[] = rows.map(({ name, about, allowed, instead, uses }) =>
  sourceRule(name, about, (source) =>
    allowed(source.file) ? [] : uses(source).map((line) => ({ line, message: `${wrong(source, line)}; ${instead}` })),
  ),
);

function wrong(source: Source, line: number): string {
  return `\`${source.lines[line - 1]?.trim() ?? ""}\` is out of its room`;
}

/** Code that stands beside the product. */
function beside(file: string): boolean {
  return file.startsWith("tools/") || file.startsWith("bench/");
}

/** Lines with a chain of names that matches; the outermost chain only, so that one use is one finding. */
function members(source: Source, matches: (name: string) => boolean): Set<number> {
  const lines = new Set<number>();
  walk(source.program, (node) => {
    if (node.type !== "MemberExpression" && node.type !== "OptionalMemberExpression") return;
    const name = dotted(node)?.replace(/^globalThis\./, "");
    if (name !== undefined && matches(name)) lines.add(node.loc.start.line);
  });
  // `const { env } = process` is the same in other words.
  for (const declarator of nodesOf(source.program, "VariableDeclarator")) {
    const pattern = child(declarator, "id");
    const object = dotted(child(declarator, "init"));
    if (pattern?.type !== "ObjectPattern" || object === undefined) continue;
    for (const property of list(pattern, "properties")) {
      const key = dotted(child(property, "key"));
      if (key !== undefined && matches(`${object}.${key}`)) lines.add(declarator.loc.start.line);
    }
  }
  return lines;
}

function isClock(name: string): boolean {
  return (
    ["Date.now", "performance.now", "process.hrtime", "process.hrtime.bigint"].includes(name) ||
    /^Temporal\.Now\b/.test(name)
  );
}

function bareDates({ program }: Source): number[] {
  return nodesOf(program, "NewExpression", "CallExpression")
    .filter((node) => dotted(child(node, "callee")) === "Date")
    .filter((node) => node.type === "CallExpression" || list(node, "arguments").length === 0)
    .map((node) => node.loc.start.line);
}

function isRandom(name: string): boolean {
  const [object = "", ...rest] = name.split(".");
  if (name === "Math.random") return true;
  return /crypto$/i.test(object) && randomNames.has(rest.at(-1) ?? "");
}

function randomImports({ imports }: Source): number[] {
  return imports
    .filter(({ specifier, names }) => specifier === "node:crypto" && names.some((name) => randomNames.has(name)))
    .map(({ line }) => line);
}

function isOutput(name: string, file: string): boolean {
  if (name === "process.stderr") return file !== "packages/server/src/kernel/log.ts" && !isTestCode(file);
  return name === "process.stdout" && !isTestCode(file);
}
