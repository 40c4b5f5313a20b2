/**
 * The service as few files of plain JavaScript, for tests that start many processes of it. A start from the sources finds, reads and
 * links more than a thousand modules: two and a half times the CPU time of a start from these files.
 *
 * Code that reads files beside it (migrations, guides, threads of the engine) still reads those of the sources.
 */

import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin, stop } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const bundles = path.join(root, ".cache/service");
const main = "packages/server/src/main.ts";

/** Bundles that a run beside this one may still start from. */
const keptBundles = 3;

/** Paths that a module derives from its place are those of its source. */
const placesOfSources: Plugin = {
  name: "places of sources",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]packages[/\\](?:server|engine|storage)[/\\]src[/\\].*\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      if (!/import\.meta\.(?:dirname|url)/.test(text)) return null;
      const contents = text
        .replaceAll("import.meta.dirname", JSON.stringify(path.dirname(file)))
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href));
      return { contents, loader: "ts" };
    });
  },
};

const ourSources = /[/\\]packages[/\\][^/\\]+[/\\]src[/\\]/;

/** Packages that are loaded when they are first needed stay where they are: the names that a CommonJS one exports would be lost. */
const packagesOnDemand: Plugin = {
  name: "packages on demand",
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path: name, kind, importer }) => {
      const isPackage = !name.startsWith("node:") && !name.startsWith("@emanet/");
      if (kind !== "dynamic-import" || !isPackage || !ourSources.test(importer)) return null;
      return { path: pathToFileURL(createRequire(importer).resolve(name)).href, external: true };
    });
  },
};

/** CommonJS packages in a file of ECMAScript modules ask for Node's own modules by this function. */
const requireFunction =
  'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);';

/** The file to be run in place of `main.ts`; built unless it was built of the same sources. */
export async function bundleService(): Promise<string> {
  const folder = path.join(bundles, sourceHash());
  if (!existsSync(folder)) {
    const made = `${folder}.${process.pid}`;
    await write(made);
    try {
      renameSync(made, folder);
    } catch (error) {
      // Another run was faster.
      rmSync(made, { recursive: true });
      if (!existsSync(folder)) throw error;
    }
    removeOld();
  }
  return path.join(folder, "main.mjs");
}

async function write(folder: string): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { main },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    // Code that a start does not need is in files that it does not load.
    splitting: true,
    write: false,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node26",
    // Log lines and error reports have names of classes.
    keepNames: true,
    legalComments: "none",
    logLevel: "warning",
    plugins: [placesOfSources, packagesOnDemand],
    banner: { js: requireFunction },
  });
  // The compiler is another process, which would not end.
  await stop();
  mkdirSync(folder, { recursive: true });
  for (const { path: file, contents } of outputFiles) writeFileSync(file, contents);
}

/** Of everything that a bundle depends on: our sources, the libraries, and this file. */
function sourceHash(): string {
  const hash = createHash("sha256").update(root);
  const sources = globSync("packages/{server,engine,storage}/src/**/*.ts", { cwd: root });
  for (const file of ["package-lock.json", "tools/bundle-service.ts", ...sources.sort()]) {
    if (file.endsWith(".test.ts")) continue;
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(root, file)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

function removeOld(): void {
  const age = (folder: string) => statSync(path.join(bundles, folder)).mtimeMs;
  const folders = globSync("*", { cwd: bundles }).sort((a, b) => age(b) - age(a));
  for (const folder of folders.slice(keptBundles)) rmSync(path.join(bundles, folder), { recursive: true });
}
