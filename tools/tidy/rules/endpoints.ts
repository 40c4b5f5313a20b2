// An endpoint is a file with its test beside it and a line in the list.

import { endpointList, isEndpoint } from "../rooms.ts";
import type { Rule } from "../rule.ts";

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
  about: "Every endpoint is served: it stands in packages/server/src/endpoints.ts.",
  check: ({ sources }) => {
    const listed = new Set(sources.find(({ file }) => file === endpointList)?.imports.map(({ target }) => target));
    return sources
      .filter(({ file }) => isEndpoint(file) && !listed.has(file))
      .map(({ file }) => ({ file, line: 1, message: `is served by nobody; add it to ${endpointList}` }));
  },
};
