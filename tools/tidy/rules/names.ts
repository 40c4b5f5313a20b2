// Names that say nothing. A file called after its subject is found; one called "utils" only grows.

import type { Rule } from "../rule.ts";

const banned: ReadonlySet<string> = new Set([
  ...["util", "utils", "helper", "helpers", "misc", "common"],
  ...["service", "services", "manager", "managers", "type", "types"],
]);
/** These say nothing as a part of a name either: `string-utils` is still a drawer. */
const bannedParts: ReadonlySet<string> = new Set(["util", "utils", "helper", "helpers", "misc"]);

export const nameRule: Rule = {
  name: "names",
  about: `No source file or folder is called ${[...banned].join(", ")}, and no name contains ${[...bannedParts].join(", ")}.`,
  check: ({ sources }) =>
    sources.flatMap(({ file }) => {
      const bad = file
        .split("/")
        .map((part) => part.split(".", 1)[0] ?? "")
        .find(saysNothing);
      return bad === undefined ? [] : [{ file, line: 1, message: `"${bad}" says nothing; name it after what it owns` }];
    }),
};

function saysNothing(name: string): boolean {
  return banned.has(name) || name.split("-").some((part) => bannedParts.has(part));
}
