/** The help texts, from the table of verbs. */

import type { OptionName, OptionSpec, VerbName, VerbSpec } from "./verbs.ts";
import { commonOptions, optionTable, verbNames, verbs } from "./verbs.ts";

const verbWidth = 34;
const optionWidth = 30;

export function helpText(verb: VerbName | null): string {
  return verb === null ? overview() : verbHelp(verb);
}

function overview(): string {
  const lines = verbNames.map((name) => {
    const { words, help }: VerbSpec = verbs[name];
    return `  ${`${name} ${words}`.trim().padEnd(verbWidth)}${help}`;
  });
  return [
    "emanet VERB [options]",
    "",
    ...lines,
    "",
    "`emanet VERB --help` shows the options of a verb. SNAPSHOT is an id, the start of one, or `latest`.",
    "With --repo DIR most verbs work on a local repository in place of the service.",
    "",
    "Exit codes: 0 done · 1 failed · 2 wrong usage · 3 done, but something is missing, skipped or damaged ·",
    "4 not signed in · 5 the service cannot be reached · 6 another run is in progress · 130 interrupted",
  ].join("\n");
}

function verbHelp(name: VerbName): string {
  const { words, help, options }: VerbSpec = verbs[name];
  const lines = [...options, ...commonOptions].map(
    (option) => `  ${optionText(option).padEnd(optionWidth)}${optionTable[option].help}`,
  );
  return [`emanet ${`${name} ${words}`.trim()}: ${help}`, "", ...lines].join("\n");
}

function optionText(name: OptionName): string {
  const { short, value }: OptionSpec = optionTable[name];
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}
