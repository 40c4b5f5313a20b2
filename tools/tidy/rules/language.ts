// Parts of the language that the formatter's own rules (biome.json) and the compiler let pass.

import { child, dotted, list, type Node, nodesOf, walk } from "../ast.ts";
import { type Rule, sourceRule } from "../rule.ts";
import type { Source } from "../tree.ts";

export const languageRule: Rule = sourceRule(
  "language",
  "No default export, no enum, no any, no non-null or definite assertion (`!`); biome knows most of these, this rule also knows `x!: T`.",
  ({ program }) => {
    const findings: { line: number; message: string }[] = [];
    walk(program, (node) => {
      const message = forbidden(node);
      if (message !== undefined) findings.push({ line: node.loc.start.line, message });
    });
    return findings;
  },
);

function forbidden(node: Node): string | undefined {
  if (node.type === "ExportDefaultDeclaration") return "default export; give it a name, so that it has one everywhere";
  if (node.type === "TSEnumDeclaration") return "enum; use a union of literals, or a frozen object `as const`";
  if (node.type === "TSAnyKeyword") return "any switches the checker off; use unknown and narrow it";
  if (node.type === "TSNonNullExpression") return "non-null assertion; handle the missing case, or throw with a reason";
  if (node.definite === true) return "definite assertion; initialise it, or make the missing case part of its type";
  return undefined;
}

export const classRule: Rule = sourceRule(
  "classes",
  "A class has state; what has none is a function. Declaration files (.d.ts) describe other people's classes.",
  ({ file, program }) =>
    file.endsWith(".d.ts")
      ? []
      : nodesOf(program, "ClassDeclaration", "ClassExpression")
          .filter((node) => child(node, "superClass") === undefined && !hasState(node))
          .map((node) => ({ line: node.loc.start.line, message: "a class without state; write functions" })),
);

function hasState(node: Node): boolean {
  const body = child(node, "body");
  const members = body === undefined ? [] : list(body, "body");
  return members.some(({ type, ...member }) => /Property$/.test(type) && member.static !== true);
}

export const swallowRule: Rule = sourceRule(
  "swallowed errors",
  "An error that is caught is handled; where ignoring it is right, a comment in the empty block says why.",
  (source) =>
    [
      ...nodesOf(source.program, "CatchClause").map((node) => child(node, "body")),
      ...emptyCatchCallbacks(source.program),
    ]
      .filter((block): block is Node => block !== undefined && list(block, "body").length === 0)
      .filter((block) => !hasCommentWithin(source, block))
      .map((block) => ({
        line: block.loc.start.line,
        message: "an error is swallowed; handle it, or say in the block why not",
      })),
);

/** The bodies of `.catch(() => {})`. */
function emptyCatchCallbacks(program: Node): Node[] {
  return nodesOf(program, "CallExpression").flatMap((node) => {
    const callee = child(node, "callee");
    const property = callee === undefined ? undefined : child(callee, "property");
    if (callee?.type !== "MemberExpression" || dotted(property) !== "catch") return [];
    const body = list(node, "arguments").map((one) => child(one, "body"))[0];
    return body?.type === "BlockStatement" ? [body] : [];
  });
}

function hasCommentWithin({ comments }: Source, { loc }: Node): boolean {
  return comments.some(({ firstLine, lastLine }) => firstLine >= loc.start.line && lastLine <= loc.end.line);
}
