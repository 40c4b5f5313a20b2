// Holds the checkout to the house's own rules (docs/ARCHITECTURE.md). Rules that nothing checks are not kept.
//
//   node tools/run.mjs tools/tidy/main.ts            prints what breaks a rule; exit code 1 if anything does
//   node tools/run.mjs tools/tidy/main.ts --rules    prints the rules

import path from "node:path";
import { check, rules } from "./rules.ts";
import { readTree } from "./tree.ts";

if (process.argv[2] === "--rules") {
  for (const { name, about } of rules) console.log(`${name}: ${about}`);
} else {
  const tree = readTree(path.resolve(import.meta.dirname, "../.."));
  const findings = check(tree);
  for (const finding of findings) console.error(finding);
  console.error(`tidy: ${tree.files.size} files, ${rules.length} rules, ${findings.length} findings`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
