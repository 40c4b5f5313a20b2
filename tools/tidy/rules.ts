// All rules, in the order in which they are printed. A new one is a row here, its function in rules/, and two cases in
// tidy.test.ts: one that breaks it and one that does not.

import type { Finding, Rule } from "./rule.ts";
import { headerRule, limitRule, markRule, suppressionRule } from "./rules/comments.ts";
import { cycleRule } from "./rules/cycles.ts";
import { endpointListRule, endpointTestRule, oneEndpointRule } from "./rules/endpoints.ts";
import { globalRules } from "./rules/globals.ts";
import {
  dependencyRule,
  domainListRule,
  endpointImportRule,
  packageNameRule,
  roomRule,
  testImportRule,
} from "./rules/imports.ts";
import { classRule, languageRule, swallowRule } from "./rules/language.ts";
import { nameRule } from "./rules/names.ts";
import { fileSizeRule, functionSizeRule } from "./rules/sizes.ts";
import { onlyRule, skipRule } from "./rules/tests.ts";
import { machinePathRule, registryRule } from "./rules/texts.ts";
import type { Tree } from "./tree.ts";

export const rules: readonly Rule[] = [
  {
    name: "syntax",
    about: "Every source file can be parsed.",
    check: ({ unreadable }) =>
      unreadable.map(({ message, ...place }) => ({ ...place, message: `cannot be parsed: ${message}` })),
  },
  ...[roomRule, domainListRule, endpointImportRule, testImportRule, packageNameRule, dependencyRule, cycleRule],
  ...[endpointTestRule, endpointListRule, oneEndpointRule],
  ...[fileSizeRule, functionSizeRule, nameRule],
  ...globalRules,
  ...[languageRule, classRule, swallowRule],
  ...[headerRule, limitRule, suppressionRule, markRule],
  ...[registryRule, machinePathRule],
  ...[onlyRule, skipRule],
];

/** What is wrong with a tree: one line each, `file:line rule: message`, by file. */
export function check(tree: Tree): string[] {
  const found: (Finding & { readonly rule: string })[] = rules.flatMap((rule) =>
    rule.check(tree).map((finding) => ({ ...finding, rule: rule.name })),
  );
  found.sort((a, b) => compare(a.file, b.file) || a.line - b.line || compare(a.rule, b.rule));
  return found.map(({ file, line, rule, message }) => `${file}:${line} ${rule}: ${message}`);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
