// What must be said in words: what a module owns, why a limit has its value. And what may not be left lying about.

import { child, list, type Node, nameOf } from "../ast.ts";
import { isGenerated, isTestCode } from "../rooms.ts";
import { type Finding, type Rule, sourceRule } from "../rule.ts";
import type { Source } from "../tree.ts";

/** A file shorter than this is its own explanation. */
const headerFromLines = 40;
/** "The vaults." says nothing; a sentence does. */
const headerMinChars = 40;

export const headerRule: Rule = sourceRule(
  "headers",
  `A source file of more than ${headerFromLines} lines opens with a comment: what it owns, its nouns, its invariants.`,
  (source) => {
    const { file, lines } = source;
    if (lines.length <= headerFromLines || isTestCode(file) || isGenerated(file) || hasHeader(source)) return [];
    return [
      { line: 1, message: "no header; open with a comment that says what this module owns and what always holds" },
    ];
  },
);

/** Comments above the first statement, set off from it by an empty line unless it is an import. */
function hasHeader({ program, comments, lines }: Source): boolean {
  const [first] = list(program, "body");
  const firstLine = first?.loc.start.line ?? Number.POSITIVE_INFINITY;
  const above = comments.filter(({ lastLine }) => lastLine < firstLine);
  const last = above.at(-1);
  if (last === undefined) return false;
  const isDocOfFirst = first?.type !== "ImportDeclaration" && lines[firstLine - 2]?.trim() !== "";
  const header = isDocOfFirst
    ? above.filter(({ lastLine }) => lastLine < firstLine - 1 && lines[lastLine]?.trim() === "")
    : above;
  return header.map(({ text }) => text.replaceAll(/[\s*]+/g, " ")).join(" ").length >= headerMinChars;
}

/** Names that promise a limit: with a unit, or with "limit", "max" or "min" in them. */
const limitName =
  /(?:Ms|Seconds|Minutes|Hours|Days|Bytes|Chars|Lines|Limit|Max|Min|Attempts)$|^(?:max|min|MAX|MIN)[A-Z_]/;
/** A minute in milliseconds needs no reason. */
const unitName = /^(?:second|minute|hour|day|week)(?:Ms|Seconds)$/;

export const limitRule: Rule = sourceRule(
  "limits",
  "A module's numeric constant that is a limit (…Ms, …Bytes, …Limit, max…) has a comment that says why it has its value: above it or, for constants that are not exported, above the unbroken run of lines it stands in.",
  (source) =>
    isTestCode(source.file)
      ? []
      : list(source.program, "body").flatMap((statement) => {
          const name = limitOf(statement);
          if (name === undefined || isExplained(source, statement)) return [];
          return [
            { line: statement.loc.start.line, message: `${name} has no comment; say above it why it has this value` },
          ];
        }),
);

/** The name of the limit that a statement declares, if it does. */
function limitOf(statement: Node): string | undefined {
  const declaration = statement.type === "ExportNamedDeclaration" ? child(statement, "declaration") : statement;
  if (declaration?.type !== "VariableDeclaration") return undefined;
  const [declarator] = list(declaration, "declarations");
  const name = nameOf(declarator && child(declarator, "id")) ?? "";
  const isLimit = limitName.test(name) && !unitName.test(name) && isNumeric(declarator && child(declarator, "init"));
  return isLimit ? name : undefined;
}

function isExplained({ comments, lines }: Source, statement: Node): boolean {
  const { line } = statement.loc.start;
  if (comments.some(({ firstLine, lastLine }) => lastLine === line - 1 || firstLine === line)) return true;
  if (statement.type === "ExportNamedDeclaration") return false;
  let first = line;
  while (/^const .*;/.test(lines[first - 2] ?? "")) first -= 1;
  return comments.some(({ lastLine }) => lastLine === first - 1);
}

function isNumeric(node: Node | undefined): boolean {
  if (node === undefined) return false;
  if (node.type === "BinaryExpression") return isNumeric(child(node, "left")) || isNumeric(child(node, "right"));
  return node.type === "NumericLiteral" || node.type === "BigIntLiteral";
}

export const suppressionRule: Rule = sourceRule(
  "suppressions",
  "The checkers are not silenced without a reason: @ts-ignore and @ts-nocheck never, @ts-expect-error and biome-ignore with a sentence.",
  ({ comments }) =>
    comments.flatMap(({ text, firstLine }) => {
      if (/@ts-(?:ignore|nocheck)\b/.test(text))
        return [{ line: firstLine, message: "silences the compiler; fix the type" }];
      const excuse = /^[\s*]*(?:@ts-expect-error|biome-ignore(?:-\w+)*(?: [\w/]+)?)\b:?(.*)/s.exec(text)?.[1];
      const bare = excuse !== undefined && (excuse.trim().length < 10 || /<explanation>/.test(excuse));
      return bare
        ? [{ line: firstLine, message: "silences a checker without a reason; say why in the same comment" }]
        : [];
    }),
);

/** Written in two halves, so that this file does not find itself. */
const marks = new RegExp(`\\b(?:${["TO-DO", "FIX-ME", "X-XX", "HA-CK"].join("|").replaceAll("-", "")})\\b`);

export const markRule: Rule = {
  name: "marks",
  about: "No marks for later (to-do and its cousins) in sources, scripts and documents: open work is an issue.",
  check: ({ files }) => {
    const findings: Finding[] = [];
    for (const [file, text] of files) {
      if (/(?:^|\/)(?:package-lock\.json|openapi\.json)$/.test(file)) continue;
      for (const [index, line] of text.split("\n").entries()) {
        // A document may speak of the mark itself, as code.
        const mark = marks.exec(file.endsWith(".md") ? line.replaceAll(/`[^`]*`/g, "") : line)?.[0];
        if (mark !== undefined)
          findings.push({
            file,
            line: index + 1,
            message: `${mark} left behind; do it, or open an issue and remove it`,
          });
      }
    }
    return findings;
  },
};
