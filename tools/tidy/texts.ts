// Rules about paths and texts, which no linter has: headers, reasons for limits, names, marks, registries. They look at
// lines, not at syntax: biome formats every source, so a statement of a module starts at the first column.

export interface Finding {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  /** What is wrong, and what to do about it. */
  readonly message: string;
}

/** Text of every file, by its path with `/`. */
export type Files = ReadonlyMap<string, string>;

type Found = Pick<Finding, "line" | "message">;

interface TextRule {
  readonly name: string;
  /** What must hold, in a sentence. */
  readonly about: string;
  /** A string is about the whole file. */
  readonly check: (file: string, text: string, files: Files) => string | undefined | readonly Found[];
}

/** A shorter file needs no header. */
const headerFromLines = 40;
/** "The vaults." and "it works" say nothing; a sentence does. */
const headerMinChars = 40;
const reasonMinChars = 10;

export const textRules: readonly TextRule[] = [
  {
    name: "names",
    about: "No source file or folder has a name that says nothing, such as utils, helpers, common, service or types.",
    check: (file) => {
      const bad = file.split("/").find((part) => emptyName.test(part.split(".", 1)[0] ?? ""));
      return bad !== undefined && isSource(file) ? `"${bad}" says nothing; name its subject` : undefined;
    },
  },
  {
    name: "endpoint tests",
    about: "Every endpoint has a test of the same name beside it.",
    check: (file, _text, files) => {
      const test = file.replace(/\.ts$/, ".test.ts");
      return isEndpoint(file) && !files.has(test) ? `has no test; write ${test}` : undefined;
    },
  },
  {
    name: "one endpoint",
    about: "A file in endpoints/ exports one thing: its operation.",
    check: (file, text) => {
      const exports = text.match(/^export (?!type |interface )/gm) ?? [];
      const operations = text.match(/^\s+id: "[a-z_]+\./gm) ?? [];
      const isOne = exports.length === 1 && operations.length <= 1;
      return isOne || !isEndpoint(file) ? undefined : "has more or less than one operation; write one file for each";
    },
  },
  {
    name: "sql in stores",
    about: "In a domain only store.ts and *-store.ts use `tx.db`, `.query(`, sql`…` and kysely.",
    check: (file, text) => {
      const isDomain = /^packages\/server\/src\/(?!kernel\/|testing\/)[^/]+\//.test(file);
      if (!isDomain || isTestCode(file) || /[/-]store\.ts$/.test(file)) return [];
      const isSql = (line: string) => /\btx\.db\b|\.query[<(]|\bsql(?:<[^`]*>)?`|from "kysely"/.test(line);
      return eachLine(text, (line) => isSql(line) && "SQL outside of a store; move it to store.ts of its domain");
    },
  },
  {
    name: "headers",
    about: `A source file of more than ${headerFromLines} lines opens with a comment: what it owns and what always holds.`,
    check: (file, text) => {
      const isShort = text.split("\n").length <= headerFromLines;
      if (!isSource(file) || isTestCode(file) || /\.generated\./.test(file) || isShort) return undefined;
      return hasHeader(text) ? undefined : "no header; say in a comment what the file owns";
    },
  },
  {
    name: "limits",
    about: "A numeric constant of a module that is a limit (…Ms, …Bytes, …Limit, max…) has a comment that says why.",
    check: (file, text) => (isSource(file) && !isTestCode(file) ? unexplainedLimits(text.split("\n")) : []),
  },
  {
    name: "suppressions",
    about: "@ts-ignore and @ts-nocheck are not used, @ts-expect-error and biome-ignore say why, our own rules hold.",
    check: (file, text) => (isSource(file) ? eachLine(text, suppression) : []),
  },
  {
    name: "marks",
    about: "No marks for later (to-do and the like): open work is an issue.",
    check: (file, text) => {
      if (/(?:^|\/)(?:package-lock|openapi)\.json$/.test(file)) return [];
      // A document may name the mark itself, as code.
      const searched = file.endsWith(".md") ? text.replaceAll(/`[^`\n]*`/g, "") : text;
      return eachLine(searched, (line) => marks.test(line) && "a mark for later; do it, or open an issue");
    },
  },
  {
    name: "registries",
    about: "No file names a package registry: the machine that installs decides which one is used.",
    check: (_file, text) => eachLine(text, (line) => registries.test(line) && "names a registry; remove it"),
  },
  {
    name: "machine paths",
    about: "No file contains an absolute path of one machine. Test code may make up a home folder.",
    check: (file, text) => {
      const isBad = (line: string) => places.test(line) || (homes.test(line) && !isTestCode(file));
      return eachLine(text, (line) => isBad(line) && "a path of one machine; make it relative");
    },
  },
];

export function checkTexts(files: Files): Finding[] {
  return [...files].flatMap(([file, text]) =>
    textRules.flatMap(({ name, check }) => {
      const found = check(file, text, files) ?? [];
      const list = typeof found === "string" ? [{ line: 1, message: found }] : found;
      return list.map((one) => ({ rule: name, file, ...one }));
    }),
  );
}

const emptyName = /^(?:common|services?|managers?|types?)$|(?:^|-)(?:utils?|helpers?|misc)(?:-|$)/;

/** Written with a hyphen, so that this file does not find itself. */
const marks = new RegExp(`\\b(?:${["TO-DO", "FIX-ME", "X-XX", "HA-CK"].join("|").replaceAll("-", "")})\\b`);

/** Hosts that packages come from, with a colon for each dot, so that this file does not find itself. */
const hosts = [
  ...["(?:registry|npm):[a-z0-9-]+:[a-z]{2,}", "(?:pypi|pythonhosted):org", "crates:io", "proxy:golang:org"],
  ...["(?:deb|security|archive):(?:debian:org|ubuntu:com)", "repo1?:maven:(?:apache:)?org"],
];
const registries = new RegExp(
  `\\b(?:${hosts.join("|").replaceAll(/(?<!\?):/g, "\\.")})\\b|^\\s*(?:@[\\w-]+:)?registry\\s*=`,
);

const homes = /(?<![\w.$}>/~-])\/(?:home|Users)\/[\w.-]+|\b[A-Z]:\\Users\\/;
const places = /(?<![\w.$}>/~-])\/(?:root|work|mnt|media)\/[\w.-]+/;

/** A comment at the top. Without an empty line or an import below, it belongs to the first statement instead. */
function hasHeader(text: string): boolean {
  const comments = /^(?:#!.*\n)?(?:\s*(?:\/\/.*|\/\*[\s\S]*?\*\/))*/.exec(text)?.[0] ?? "";
  const isHeader = /^\s*import\b|^\s*\n\s*\n/.test(text.slice(comments.length));
  const header = isHeader ? comments : comments.slice(0, Math.max(0, comments.lastIndexOf("\n\n")));
  return header.replaceAll(/[\s*/]+/g, " ").length >= headerMinChars;
}

/** Names that promise a limit: with a unit, or with "limit", "max" or "min" in them. */
const limitName =
  /(?:Ms|Seconds|Minutes|Hours|Days|Bytes|Chars|Lines|Limit|Max|Min|Attempts)$|^(?:max|min|MAX|MIN)[A-Z_]/;
/** A minute in milliseconds needs no reason. */
const unitName = /^(?:second|minute|hour|day|week)(?:Ms|Seconds)$/;
const declaration = /^(?<exported>export )?const (?<name>\w+)(?:: [^=]+)? =\s*(?<value>.*)$/;
/** A number, or a sum or product with a number in it. */
const numeric = /^(?!.*\w\()[\w.\s*+\-/<()]*(?<![\w.])\d[\w.\s*+\-/<()]*;|[*+\-/] [\d_.]+;/;

/** The comment is above the constant or, for constants that are not exported, above the run of constants. */
function unexplainedLimits(lines: readonly string[]): Found[] {
  const isComment = (index: number): boolean => /^\s*(?:\/[/*]|\*)|\*\/\s*$/.test(lines[index] ?? "");
  return lines.flatMap((line, index) => {
    const { exported, name = "", value = "" } = declaration.exec(line)?.groups ?? {};
    if (!limitName.test(name) || unitName.test(name) || !numeric.test(value || `${lines[index + 1]}`)) return [];
    let first = index;
    while (exported === undefined && /^const .*;/.test(lines[first - 1] ?? "")) first -= 1;
    if (isComment(index - 1) || isComment(first - 1) || line.includes("; //")) return [];
    return [{ line: index + 1, message: `${name} has no comment; say above it why it has this value` }];
  });
}

/** Rules of biome.json that have no exceptions. */
const kept =
  /lint(?::|\/\w+:|\/plugin|.*\/no(?:ExcessiveLines|Restricted|JsRestricted|ImportCycles|Undeclared|Default|Enum|ExplicitAny|NonNull|Console|Focused|Skipped))/;
const silencer = /(?:\/\/|\/\*|^\s*\*)[\s*]*(@ts-[a-z-]+\b|biome-ignore(?:-\w+)*\b(?: [\w/]+)?:?)(.*)/;

function suppression(line: string): string | undefined {
  const [, what = "", reason = ""] = silencer.exec(line) ?? [];
  if (/@ts-(?:ignore|nocheck)/.test(what)) return "silences the compiler; fix the type";
  if (kept.test(what)) return "silences a rule that has no exceptions";
  const isBare = reason.replace("*/", "").trim().length < reasonMinChars || reason.includes("<explanation>");
  return what !== "" && isBare ? "silences a checker; say why in the same comment" : undefined;
}

function eachLine(text: string, check: (line: string) => string | false | undefined): Found[] {
  return text.split("\n").flatMap((line, index) => {
    const message = check(line);
    return message ? [{ line: index + 1, message }] : [];
  });
}

const endpointFile = /^packages\/server\/src\/.*\/endpoints\/(?!index\.)[^/]+\.ts$/;
const isSource = (file: string): boolean => /\.(?:ts|tsx|mts|js|jsx|mjs)$/.test(file);
const isTestCode = (file: string): boolean => /^tests\/|\.test\.[a-z]+$|(?:^|\/)testing(?:\/|\.ts$)/.test(file);
const isEndpoint = (file: string): boolean => endpointFile.test(file) && !isTestCode(file);
