/** Reads the arguments of the command by the table of verbs. */

import { parseArgs } from "node:util";
import { usage } from "../failure.ts";
import type { OptionName, VerbName, VerbSpec } from "./verbs.ts";
import { commonOptions, optionTable, serviceOptions, verbs } from "./verbs.ts";

type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/** A command line that was understood. */
export class CommandLine {
  readonly verb: VerbName;
  readonly words: readonly string[];
  readonly #values: Values;

  constructor(verb: VerbName, words: readonly string[], values: Values) {
    this.verb = verb;
    this.words = words;
    this.#values = values;
  }

  text(name: OptionName): string | null {
    const value = this.#values[name];
    return typeof value === "string" ? value : null;
  }

  has(name: OptionName): boolean {
    return this.#values[name] === true;
  }

  list(name: OptionName): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
  }

  /** A whole number within bounds; null if the option is absent. */
  number(name: OptionName, min: number, max: number): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw usage(`--${name} takes a whole number from ${min} to ${max}`);
    return value;
  }

  /** The only word after the verb, or one of them. */
  word(at: number, what: string): string {
    const word = this.words[at];
    if (word === undefined || word === "") throw usage(`${this.verb} needs ${what}`);
    return word;
  }
}

/** What is to be done: run a verb, or show the help of a verb or of all. */
export type Parsed = { readonly help: VerbName | null } | CommandLine;

export function parseCommandLine(args: readonly string[]): Parsed {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    const about = first === undefined || rest[0] === undefined ? null : verbOf(rest[0]);
    return { help: about };
  }
  const verb = verbOf(first);
  const spec: VerbSpec = verbs[verb];
  const { values, positionals } = parse(rest, [...commonOptions, ...spec.options]);
  if (values.help === true) return { help: verb };
  const extra = positionals[mostWords(spec)];
  if (extra !== undefined) throw usage(`${verb} does not take ${extra}: emanet ${`${verb} ${spec.words}`.trim()}`);
  if (spec.on === "repository" && values.repo === undefined) throw usage(`${verb} needs --repo DIR`);
  if (values.kit !== undefined && values.repo === undefined)
    throw usage("--kit needs --repo DIR, a copy of the bucket");
  const unknown = values.repo === undefined ? undefined : serviceOptions.find((name) => values[name] !== undefined);
  if (unknown !== undefined) throw usage(`--${unknown} works on the service only, not with --repo`);
  return new CommandLine(verb, positionals, values);
}

/** How many words may follow the verb. */
function mostWords({ words }: VerbSpec): number {
  if (words.includes("…")) return Number.POSITIVE_INFINITY;
  return words === "" ? 0 : words.split(" ").length;
}

function verbOf(word: string): VerbName {
  if (Object.hasOwn(verbs, word)) return word as VerbName;
  throw usage(word.startsWith("-") ? `the first word is a verb, not ${word}` : `unknown verb ${word}`);
}

function parse(args: readonly string[], names: readonly OptionName[]) {
  const options = Object.fromEntries(
    names.map((name) => {
      const { type, ...rest } = optionTable[name];
      const short = "short" in rest ? { short: rest.short } : {};
      const multiple = "multiple" in rest ? { multiple: rest.multiple } : {};
      return [name, { type, ...short, ...multiple }];
    }),
  );
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}
