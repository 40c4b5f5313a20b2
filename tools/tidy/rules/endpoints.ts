// An endpoint is a file with its test beside it and a line in the list of its domain.

import { endpointListOf, isEndpoint } from "../rooms.ts";
import { type Rule, sourceRule } from "../rule.ts";

export const endpointTestRule: Rule = {
  name: "endpoint tests",
  about: "Every endpoint has a test of the same name beside it.",
  check: ({ sources, files }) =>
    sources.flatMap(({ file }) => {
      const test = file.replace(/\.ts$/, ".test.ts");
      return !isEndpoint(file) || files.has(test) ? [] : [{ file, line: 1, message: `has no test; write ${test}` }];
    }),
};

export const endpointListRule: Rule = {
  name: "endpoint list",
  about: "Every endpoint is served: it stands in the list of its domain, `endpoints/index.ts`.",
  check: ({ sources }) => {
    const lists = new Map(
      sources.map(({ file, imports }) => [file, new Set(imports.map(({ target }) => target))] as const),
    );
    return sources
      .filter(({ file }) => isEndpoint(file) && lists.get(endpointListOf(file))?.has(file) !== true)
      .map(({ file }) => ({ file, line: 1, message: `is not served; add it to ${endpointListOf(file)}` }));
  },
};

export const oneEndpointRule: Rule = sourceRule(
  "one endpoint",
  "A file in endpoints/ exports one thing: its operation. What operations share is in a module of the domain.",
  ({ file, lines }) => {
    if (!isEndpoint(file)) return [];
    const exported = lines.flatMap((text, at) => (/^export (?!(type|interface) )/.test(text) ? [at + 1] : []));
    const ids = lines.filter((text) => /^\s+id: "[a-z_]+\./.test(text));
    if (exported.length === 1 && ids.length <= 1) return [];
    return [{ line: exported[1] ?? 1, message: "holds more or less than one operation; one file each" }];
  },
);
