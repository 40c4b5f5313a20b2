/**
 * `npm run generate`: writes every committed file that is made from code. With `--check` it writes nothing and fails,
 * naming each file that is not up to date. `--root=<folder>` compares with the files of another folder (for its test).
 *
 * A *generator* is one row of the table below: the file and how its text is made. To add one, add a row.
 */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { settingReference } from "../packages/server/src/config.ts";
import { apiDocument, endpoints } from "../packages/server/src/endpoints.ts";
import { openPools } from "../packages/server/src/kernel/database/pool.ts";
import { rowTypes } from "../packages/server/src/kernel/database/rows.ts";
import { readSchema, type Schema, schemaText } from "../packages/server/src/kernel/database/schema.ts";
import { silentLog } from "../packages/server/src/testing/database.ts";
import { auditRecordsPage } from "./audit-records-page.ts";
import { rolesPage } from "./roles-page.ts";
import { type Document, typescriptClient, typescriptSchemas } from "./sdk/typescript.ts";
import { startTestServer } from "./test-server.ts";

interface Generator {
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly make: (sources: Sources) => Promise<string>;
}

/** What is costly to get and shared by several generators; made when the first one asks. */
interface Sources {
  readonly schema: () => Promise<Schema>;
}

/** How deep the document is broken into lines: an operation and a component have a line for each member. */
const documentDepth = 5;

const generators: readonly Generator[] = [
  { file: "packages/server/schema.txt", make: async (sources) => schemaText(await sources.schema()) },
  {
    file: "packages/server/src/kernel/database/rows.generated.ts",
    make: async (sources) => rowTypes(await sources.schema()),
  },
  { file: "openapi.json", make: async () => `${documentText(apiDocument(), 0)}\n` },
  {
    file: "sdks/typescript/src/schemas.generated.ts",
    make: async () => typescriptSchemas(apiDocument() as unknown as Document),
  },
  {
    file: "sdks/typescript/src/api.generated.ts",
    make: async () => typescriptClient(apiDocument() as unknown as Document),
  },
  { file: "docs/SETTINGS.md", make: async () => settingsPage() },
  { file: "docs/AUDIT-RECORDS.md", make: async () => auditRecordsPage(endpoints.map(({ spec }) => spec)) },
  { file: "docs/ROLES.md", make: async () => rolesPage(endpoints.map(({ spec }) => spec)) },
];

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const check = args.includes("--check");
  const elsewhere = args.find((arg) => arg.startsWith("--root="))?.slice("--root=".length);
  const root = elsewhere ?? path.resolve(import.meta.dirname, "..");
  const sources = { schema: once(migratedSchema) };
  const stale: string[] = [];
  for (const { file, make } of generators) {
    const text = await make(sources);
    const committed = await readFile(path.join(root, file), "utf8").catch(() => "");
    if (text === committed) continue;
    stale.push(file);
    if (check) console.error(`emanet: ${file} is not up to date\n${difference(committed, text)}`);
    else await writeFile(path.join(root, file), text);
  }
  if (check && stale.length > 0) console.error("emanet: run `npm run generate` and commit what it changed");
  if (!check)
    console.log(stale.length === 0 ? "emanet: everything was up to date" : `emanet: wrote ${stale.join(", ")}`);
  return check && stale.length > 0 ? 1 : 0;
}

/** JSON with a line for each member down to a depth and no other spaces: small, and readable in a diff. */
function documentText(value: unknown, depth: number): string {
  if (depth >= documentDepth || typeof value !== "object" || value === null || Array.isArray(value)) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}:${documentText(each, depth + 1)}`,
  );
  return `{\n${members.join(",\n")}\n}`;
}

/** The reference of all settings. */
function settingsPage(): string {
  const rows = settingReference().map(({ variable, default: fallback, about, production }) => {
    const needed = production === "" ? "" : ` **Must be set in production:** ${production}.`;
    return `| \`${variable}\` | ${fallback} | ${about}${needed} |`;
  });
  return [
    "# Settings",
    "",
    "Everything is set by environment variables. This page is made from `packages/server/src/config.ts` by `npm run generate`.",
    "",
    "| variable | default | what it is for |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

/** The schema after all migrations, read from a temporary server. */
async function migratedSchema(): Promise<Schema> {
  const { server, stop } = await startTestServer();
  try {
    const pools = await openPools({
      target: { ...server.admin, user: server.owner, database: server.template },
      log: silentLog,
    });
    return await readSchema(pools.owner).finally(pools.close);
  } finally {
    await stop();
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The first line that differs: enough to see what changed; git shows the rest after generating. */
function difference(committed: string, made: string): string {
  const before = committed.split("\n");
  const after = made.split("\n");
  const line = after.findIndex((text, index) => text !== before[index]);
  const at = line === -1 ? after.length : line;
  return `  line ${at + 1}\n  - ${before[at] ?? "(end of file)"}\n  + ${after[at] ?? "(end of file)"}`;
}
