/** `completion`: a script for a shell, from the table of verbs. */

import type { OptionName, OptionSpec, VerbSpec } from "../command-line/verbs.ts";
import { commonOptions, optionTable, verbNames, verbs } from "../command-line/verbs.ts";
import { exitCodes, usage } from "../failure.ts";
import type { Command } from "./command.ts";

const shells = { bash, zsh, fish } as const;

export const completion: Command = async (run) => {
  const word = run.line.word(0, "a shell: bash, zsh or fish");
  if (!Object.hasOwn(shells, word)) throw usage("completion knows bash, zsh and fish");
  run.out(shells[word as keyof typeof shells]());
  return exitCodes.done;
};

function optionsOf(verb: keyof typeof verbs): readonly OptionName[] {
  const { options }: VerbSpec = verbs[verb];
  return [...options, ...commonOptions];
}

function bash(): string {
  const cases = verbNames.map((verb) => {
    const words = optionsOf(verb).map((name) => `--${name}`);
    return `    ${verb}) words="${words.join(" ")}" ;;`;
  });
  return [
    "# emanet completion bash",
    "_emanet() {",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" words=""`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${verbNames.join(" ")}" -- "$current"))`,
    "    return",
    "  fi",
    `  case "\${COMP_WORDS[1]}" in`,
    ...cases,
    "  esac",
    '  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi',
    "}",
    "complete -o filenames -F _emanet emanet",
    "",
  ].join("\n");
}

function zsh(): string {
  const list = verbNames.map((verb) => `    '${verb}:${quoted(verbs[verb].help)}'`);
  const cases = verbNames.map((verb) => {
    const parts = optionsOf(verb).map((name) => {
      const { value, help }: OptionSpec = optionTable[name];
      return `'--${name}[${quoted(help).replaceAll(/[[\]:]/g, " ")}]${value === undefined ? "" : `:${value}:_files`}'`;
    });
    return `    ${verb}) _arguments ${parts.join(" ")} '*:file:_files' ;;`;
  });
  return [
    "#compdef emanet",
    "_emanet() {",
    "  local -a verbs=(",
    ...list,
    "  )",
    "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi",
    "  local verb=$words[2]",
    "  shift words; (( CURRENT-- ))",
    '  case "$verb" in',
    ...cases,
    "  esac",
    "}",
    "compdef _emanet emanet",
    "",
  ].join("\n");
}

function fish(): string {
  const lines = verbNames.map(
    (verb) => `complete -c emanet -n __fish_use_subcommand -a ${verb} -d '${quoted(verbs[verb].help)}'`,
  );
  const options = verbNames.flatMap((verb) =>
    optionsOf(verb).map((name) => {
      const { value, short, help }: OptionSpec = optionTable[name];
      const more = `${short === undefined ? "" : ` -s ${short}`}${value === undefined ? "" : " -r"}`;
      return `complete -c emanet -n '__fish_seen_subcommand_from ${verb}' -l ${name}${more} -d '${quoted(help)}'`;
    }),
  );
  return `${["# emanet completion fish", ...lines, ...options].join("\n")}\n`;
}

/** Inside single quotes of every shell. */
function quoted(text: string): string {
  return text.replaceAll("'", "’");
}
