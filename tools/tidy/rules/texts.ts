// What no file of the repository may contain, whatever its kind: names that belong to one machine.

import { isTestCode } from "../rooms.ts";
import type { Finding, Rule } from "../rule.ts";

/** Hosts that packages come from, with a colon for each dot, so that this file does not find itself. */
const hosts = [
  "(?:registry|npm):[a-z0-9-]+:[a-z]{2,}",
  "(?:pypi|pythonhosted):org",
  "crates:io",
  "proxy:golang:org",
  "(?:deb|security|archive):(?:debian:org|ubuntu:com)",
  "repo1?:maven:(?:apache:)?org",
];

const registries = new RegExp(
  `\\b(?:${hosts.join("|").replaceAll(/(?<!\?):/g, "\\.")})\\b|^\\s*(?:@[\\w-]+:)?registry\\s*=`,
);

export const registryRule: Rule = {
  name: "registries",
  about: "No file names a package registry: which one is used is the business of the machine that installs.",
  check: ({ files }) => find(files, (line) => registries.exec(line)?.[0], "names the registry", "remove it"),
};

/** Somebody's home, or a mount that only one machine has. */
const homes = /(?<![\w.$}>/~-])\/(?:home|Users)\/[\w.-]+|\b[A-Z]:\\Users\\/;
const places = /(?<![\w.$}>/~-])\/(?:root|work|mnt|media)\/[\w.-]+/;

export const machinePathRule: Rule = {
  name: "machine paths",
  about: "No file contains an absolute path of one machine. Test code may make up a home to see that it is scrubbed.",
  check: ({ files }) =>
    find(
      files,
      (line, file) => (places.exec(line) ?? (isTestCode(file) ? null : homes.exec(line)))?.[0],
      "contains a path of one machine,",
      "make it relative",
    ),
};

function find(
  files: ReadonlyMap<string, string>,
  look: (line: string, file: string) => string | undefined,
  wrong: string,
  remedy: string,
): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of files) {
    for (const [index, line] of text.split("\n").entries()) {
      const found = look(line, file);
      if (found !== undefined) findings.push({ file, line: index + 1, message: `${wrong} ${found.trim()}; ${remedy}` });
    }
  }
  return findings;
}
