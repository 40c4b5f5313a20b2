// Who may import whom (docs/ARCHITECTURE.md), as rules of dependency-cruiser. It reads TypeScript with swc, because
// TypeScript 7 has no API. biome.json has the two other import rules: no cycles, no undeclared dependencies.

import { globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { cruise, type IForbiddenRuleType } from "dependency-cruiser";
import type { Finding } from "./texts.ts";

const server = "^packages/server/src/";
const testCode = "\\.test\\.[a-z]+$|(?:^|/)testing/|/testing\\.ts$|^tests/";
const declarations = `${server}declarations\\.ts$`;
/** The reader of the environment, the table of settings and its parsers. */
const configFiles = "(config|settings|setting-parsers|version)\\.ts$";
const ours = "^(packages|sdks|tools|bench|tests)/";
const dashboardSource = "packages/dashboard/src/";
/** Some dependencies are installed inside a package. Its package.json is no source. */
const installed = "/node_modules/|/package\\.json$";

/** The parts of the repository: the path of each, and which other parts it may import. */
const layers: Readonly<Record<string, readonly [path: string, mayImport: readonly string[]]>> = {
  engine: ["^packages/engine/", []],
  storage: ["^packages/storage/", ["engine"]],
  "engine-cli": ["^packages/engine-cli/", ["engine", "storage"]],
  sdk: ["^sdks/", []],
  agent: ["^packages/agent/", ["engine", "engine-cli", "sdk"]],
  dashboard: ["^packages/dashboard/", ["sdk"]],
  config: [`${server}${configFiles}`, ["kernel"]],
  kernel: [`${server}kernel/`, ["config", "engine", "storage"]],
  // Every domain may import the joined declarations, so these import nothing else of a domain.
  declarations: [declarations, ["kernel", "domain"]],
  domain: [`${server}(?!kernel/|testing/)[^/]+/`, ["kernel", "config", "declarations", "engine", "storage"]],
  // Files directly under packages/server/src put the service together.
  composition: [
    `${server}((?!(config|settings|setting-parsers|version|declarations)\\.ts$)[^/]+$|testing/)`,
    ["kernel", "config", "declarations", "domain", "engine", "storage"],
  ],
};

/**
 * Domains of the server. A domain imports only the index.ts of domains before it. A new folder under packages/server/src
 * gets its place here. `audit` and `webhooks` read what a transaction recorded: no domain imports
 * them, but for the names of the events of \`audit\`.
 */
const domains: readonly string[] = [
  ...["identifiers", "pages", "dashboard", "docs", "health", "messages", "accounts", "limits"],
  ...["keys", "receipts", "identity"],
  ...["archives", "catalog", "vaults", "taxpayers", "agents", "paths", "snapshots", "uploads", "files"],
  ...["search", "reports", "restores", "retention", "upkeep", "reads", "orders", "downloads"],
  ...[
    "applications",
    "oauth",
    "first-run",
    "recovery",
    "erasures",
    "recovery-kits",
    "audit",
    "webhooks",
    "admin",
    "sandbox",
  ],
];
/** The parts of identity, with an order like that of the domains (decision 0222). */
const identityParts: readonly string[] = ["factors", "sessions", "enrolment", "recovery", "members"];
const domain = `${server}(?:${domains.join("|")})/`;
const endpoint = `${server}.+/endpoints/(?!index\\.ts$)[^/]+$`;

const rules: readonly IForbiddenRuleType[] = [
  ...Object.entries(layers).flatMap(([name, [path, mayImport]]) => {
    const allowed = [path, ...mayImport.map((other) => layers[other]?.[0] ?? other), installed];
    const comment = `${name} may import ${["itself", ...mayImport].join(", ")} only`;
    const from = path.replace("^packages/", "^packages/(?=([^/]+)/)");
    return [
      { from: { path, pathNot: testCode }, to: { path: ours, pathNot: allowed } },
      // A test may import everything of its own package. A package gets no new dependency through its tests.
      { from: { path: `^(?=.*(?:${testCode}))${from}` }, to: { path: ours, pathNot: [...allowed, "^packages/$1/"] } },
    ].map((rule) => ({ name: `layer ${name}`, comment, ...rule }));
  }),
  {
    name: "layer bench",
    comment: "no benchmark needs the dashboard",
    from: { path: "^bench/" },
    to: { path: "^packages/dashboard/" },
  },
  ...[domains, identityParts.map((part) => `identity/${part}`)].flatMap((ordered) =>
    ordered.map((name, index) => ({
      name: "domain order",
      comment: "a domain that comes later in tools/tidy/imports.ts; turn the dependency round, or use an event",
      from: { path: `${server}${name}/`, pathNot: testCode },
      to: { path: `${server}(${ordered.slice(index + 1).join("|") || "-"})/` },
    })),
  ),
  ...[
    {
      from: { path: `${server}([^/]+)/`, pathNot: [testCode, `${server}kernel/`] },
      to: { path: domain, pathNot: [`${server}$1/`, `${server}[^/]+/index\\.ts$`] },
    },
    {
      from: { path: `${server}identity/(${identityParts.join("|")})/`, pathNot: testCode },
      to: { path: `${server}identity/`, pathNot: [`${server}identity/$1/`, `${server}identity/[^/]+/index\\.ts$`] },
    },
    {
      from: { path: `${server}[^/]+$`, pathNot: [testCode, declarations] },
      to: { path: domain, pathNot: "/index\\.ts$" },
    },
  ].map((rule) => ({ name: "domain index", comment: "an inner file of another domain; import its index.ts", ...rule })),
  {
    name: "declarations",
    comment: "a file of a domain that declares no names",
    from: { path: declarations },
    to: { path: `${server}[^/]+/`, pathNot: [`${server}kernel/`, "/(problems|policies|scopes|roles|paths)\\.ts$"] },
  },
  {
    name: "domain list",
    comment: "a domain that the list in tools/tidy/imports.ts does not have; add it after all domains that it uses",
    from: {},
    to: { path: `${server}(?!(kernel|testing|${domains.join("|")})/)[^/]+/` },
  },
  {
    name: "endpoint imports",
    comment: "only the endpoints/index.ts of its domain imports an endpoint; move what is shared into another file",
    from: { pathNot: [testCode, "/endpoints/index\\.ts$"] },
    to: { path: endpoint, pathNot: testCode },
  },
  {
    name: "endpoint list",
    comment: "not served; add it to the endpoints/index.ts of its domain",
    from: { path: `${server}endpoints\\.ts$` },
    to: { path: endpoint, pathNot: testCode, reachable: false },
  },
  {
    name: "test imports",
    comment: "production code works without test code",
    from: { path: "^(packages|sdks)/", pathNot: testCode },
    to: { path: testCode, pathNot: installed },
  },
  {
    name: "package names",
    comment: "a path that leaves the package; import the other package by its name",
    from: { path: "^((packages|sdks)/[^/]+)/" },
    to: { path: ours, pathNot: ["^$1/", installed], dependencyTypesNot: ["aliased-workspace"] },
  },
  {
    name: "dependencies",
    comment: "neither the package's own package.json nor the one of the repository lists it",
    from: {},
    to: { dependencyTypes: ["npm-no-pkg", "npm-unknown", "unknown"] },
  },
];

export const importRules = new Map(rules.map(({ name = "", comment = "" }) => [name, comment]));

/** Reads the sources under a folder and finds the imports that break a rule. */
export async function checkImports(root: string): Promise<Finding[]> {
  const folders = readdirSync(root).filter((name) => new RegExp(ours).test(`${name}/`));
  const { output } = await cruise(folders, {
    baseDir: root,
    parser: "swc",
    validate: true,
    ruleSet: { forbidden: rules.map((rule) => ({ severity: "error", ...rule })) },
    // The parser of dependency-cruiser does not read JSX.
    doNotFollow: { path: `node_modules|${dashboardSource}` },
    // What is built is no source.
    exclude: { path: "/dist/" },
    combinedDependencies: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  });
  if (typeof output === "string") throw new Error(`dependency-cruiser: ${output}`);
  const found = output.summary.violations.map(({ from, to, rule: { name } }) =>
    name === "endpoint list"
      ? { rule: name, file: to, line: 1, message: importRules.get(name) ?? "" }
      : { rule: name, file: from, line: 1, message: `imports ${to}: ${importRules.get(name)}` },
  );
  return [...found, ...checkDashboard(root)];
}

/** The dashboard imports itself, the client of the API, and packages that biome finds in its package.json. */
function checkDashboard(root: string): Finding[] {
  const name = "layer dashboard";
  return globSync(`${dashboardSource}**/*.{ts,tsx}`, { cwd: root }).flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    const imported = [...text.matchAll(/(?:\bfrom |\bimport\(|^import )"([^"]+)"/gm)].map(
      ([, specifier = ""]) => specifier,
    );
    const isOurs = (specifier: string) => specifier.startsWith(".") || specifier.startsWith("@emanet/");
    const isAllowed = (specifier: string) =>
      specifier === "@emanet/client/source" ||
      (specifier.startsWith(".") &&
        path.join(path.dirname(file), specifier).startsWith(path.normalize(dashboardSource)));
    const bad = imported.filter((specifier) => isOurs(specifier) && !isAllowed(specifier));
    return bad.map((specifier) => ({
      rule: name,
      file,
      line: 1,
      message: `imports ${specifier}: ${importRules.get(name)}`,
    }));
  });
}
