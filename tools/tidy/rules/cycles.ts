// No file imports itself by way of others. A cycle makes the order of loading matter and two files one.

import type { Finding, Rule } from "../rule.ts";
import type { Source } from "../tree.ts";

export const cycleRule: Rule = {
  name: "cycles",
  about: "There are no import cycles anywhere, type imports included.",
  check: ({ sources }) => {
    const graph = new Map(sources.map((source) => [source.file, source]));
    const reported = new Set<string>();
    const findings: Finding[] = [];
    for (const source of sources) {
      if (reported.has(source.file)) continue;
      const cycle = shortestCycle(source.file, graph);
      if (cycle === undefined) continue;
      for (const file of cycle) reported.add(file);
      findings.push(describe(cycle, graph));
    }
    return findings;
  },
};

/** Breadth first from a file back to itself; the files on the way, the start first. */
function shortestCycle(start: string, graph: ReadonlyMap<string, Source>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const { target } of graph.get(file)?.imports ?? []) {
      if (target === start) return pathTo(file, start, cameFrom);
      if (target === undefined || cameFrom.has(target)) continue;
      cameFrom.set(target, file);
      queue.push(target);
    }
  }
  return undefined;
}

function pathTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const files = [end];
  for (let file = end; file !== start; ) {
    file = cameFrom.get(file) ?? start;
    files.unshift(file);
  }
  return files;
}

function describe(cycle: readonly string[], graph: ReadonlyMap<string, Source>): Finding {
  const [file = ""] = cycle;
  const next = cycle[1] ?? file;
  const line = graph.get(file)?.imports.find(({ target }) => target === next)?.line ?? 1;
  const loop = [...cycle, file].join(" → ");
  return { file, line, message: `import cycle ${loop}; move what they share into a file that both import` };
}
