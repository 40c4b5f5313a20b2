// What a rule is: a name, a sentence that says what must hold and why, and a function that finds where it does not.

import type { Source, Tree } from "./tree.ts";

export interface Finding {
  readonly file: string;
  readonly line: number;
  /** What is wrong, and what to do about it. */
  readonly message: string;
}

export interface Rule {
  readonly name: string;
  /** What must hold, in a sentence. */
  readonly about: string;
  readonly check: (tree: Tree) => readonly Finding[];
}

/** A rule that looks at one source at a time. */
export function sourceRule(
  name: string,
  about: string,
  check: (source: Source) => readonly Omit<Finding, "file">[],
): Rule {
  return {
    name,
    about,
    check: (tree) =>
      tree.sources.flatMap((source) => check(source).map((finding) => ({ file: source.file, ...finding }))),
  };
}
