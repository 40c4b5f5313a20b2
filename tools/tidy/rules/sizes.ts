// Budgets of size. There is no list of exceptions: what does not fit is two things.

import { child, dotted, type Node, nameOf, walk } from "../ast.ts";
import { isGenerated } from "../rooms.ts";
import { type Rule, sourceRule } from "../rule.ts";

/** A function that does not fit on a screen is not read as a whole. Aim for 40. */
export const functionLinesLimit = 70;
/** A file longer than this holds more than one subject. Aim for 250. */
export const fileLinesLimit = 500;

export const fileSizeRule: Rule = sourceRule(
  "file size",
  `A file has at most ${fileLinesLimit} lines, a test file too; generated files are exempt.`,
  ({ file, lines }) => {
    const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
    if (isGenerated(file) || count <= fileLinesLimit) return [];
    return [{ line: fileLinesLimit + 1, message: `${count} lines, ${fileLinesLimit} allowed; split it by subject` }];
  },
);

export const functionSizeRule: Rule = sourceRule(
  "function size",
  `A function has at most ${functionLinesLimit} lines, a test's body too; only the callback of describe may hold more.`,
  ({ file, program }) => {
    const findings: { line: number; message: string }[] = [];
    if (isGenerated(file)) return findings;
    walk(program, (node, parents) => {
      if (!functionTypes.has(node.type) || isDescribe(node, parents.at(-1))) return;
      const { start, end } = node.loc;
      const count = end.line - start.line + 1;
      if (count <= functionLinesLimit) return;
      const name = functionName(node, parents.at(-1));
      findings.push({
        line: start.line,
        message: `${name} has ${count} lines, ${functionLinesLimit} allowed; move its steps into functions`,
      });
    });
    return findings;
  },
);

const functionTypes: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ObjectMethod",
  "ClassMethod",
  "ClassPrivateMethod",
]);

function isDescribe(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== "CallExpression" || child(parent, "callee") === node) return false;
  return ["describe", "suite"].includes(dotted(child(parent, "callee"))?.split(".", 1)[0] ?? "");
}

function functionName(node: Node, parent: Node | undefined): string {
  const own = nameOf(child(node, "id") ?? child(node, "key"));
  const given = parent?.type === "VariableDeclarator" ? nameOf(child(parent, "id")) : undefined;
  return own ?? given ?? "a function";
}
