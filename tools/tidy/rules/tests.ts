// Tests that do not test: one that shuts out all others, one that is skipped and nobody knows why.

import { child, dotted, list, type Node, nameOf, nodesOf } from "../ast.ts";
import { isTestCode } from "../rooms.ts";
import { type Rule, sourceRule } from "../rule.ts";

const runners: ReadonlySet<string> = new Set(["test", "it", "describe", "suite"]);

export const onlyRule: Rule = sourceRule(
  "only",
  "No test.only: it switches every other test off.",
  ({ file, program }) => (isTestCode(file) ? marked(program, "only") : []),
);

export const skipRule: Rule = sourceRule(
  "skips",
  'A test is skipped only with the reason in words (`t.skip("…")`, `{ skip: condition && "…" }`); `.skip`, `skip: true` and todo tests are not used.',
  ({ file, program }) => {
    if (!isTestCode(file)) return [];
    const silent = nodesOf(program, "CallExpression")
      .filter((call) => /^\w+\.(?:skip|todo)$/.test(dotted(child(call, "callee")) ?? ""))
      .filter(
        (call) =>
          !runners.has(dotted(child(call, "callee"))?.split(".")[0] ?? "") && list(call, "arguments").length === 0,
      )
      .map((call) => ({ line: call.loc.start.line, message: "skips without a reason; pass it as the argument" }));
    return [...marked(program, "skip"), ...marked(program, "todo"), ...silent];
  },
);

/** `test.<mark>(…)` and `{ <mark>: true }` of a runner. */
function marked(program: Node, mark: string): { line: number; message: string }[] {
  return nodesOf(program, "CallExpression").flatMap((call) => {
    const [runner = "", suffix] = dotted(child(call, "callee"))?.split(".") ?? [];
    if (!runners.has(runner)) return [];
    const byOption = list(call, "arguments").some((one) =>
      list(one, "properties").some(
        (option) => nameOf(child(option, "key")) === mark && child(option, "value")?.value === true,
      ),
    );
    return suffix === mark || byOption
      ? [{ line: call.loc.start.line, message: `${mark} on a test; remove it before the change is taken` }]
      : [];
  });
}
