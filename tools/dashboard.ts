/**
 * `npm run dashboard`: builds the web application of `packages/dashboard` into its folder `dist`, where the service reads it.
 * `npm start`, `npm test` and `npm run fuzz` run it first.
 *
 *   npm run dashboard                builds, if the sources or libraries differ from those of the last build
 *   npm run dashboard -- --check     builds into memory and compares the sizes with the budget; writes nothing
 *
 * A build is a folder of its own, `dist/<hash of its sources>`, and `dist/current` names the one that is served. So a service
 * that reads a build never meets half of another.
 */

import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildResult, build, type Metafile, stop } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const source = path.join(root, "packages/dashboard/src");
const dist = path.join(root, "packages/dashboard/dist");

/** Where the service serves the files. */
const publicPath = "/assets";

/** Builds that a running service may still read. */
const keptBuilds = 3;

/** kB (1000 bytes) after gzip: what an office laptop loads and runs in 1.5 s. */
const budget = { firstScreen: 160, anyScreen: 200, styles: 20 } as const;

/** Files whose code is on the first screen besides that of the entry. */
const firstScreen = ["screens/overview.tsx", "strings/tr.ts"];

type Built = BuildResult<{ write: false; metafile: true }>;

if (import.meta.main) {
  process.exitCode = process.argv.includes("--check") ? await check() : await buildOnce();
  // The compiler is another process, which would not end.
  await stop();
}

async function buildOnce(): Promise<number> {
  const { isNew, folder } = await buildDashboard();
  if (isNew) console.error(`dashboard: built ${path.relative(root, folder)}`);
  return 0;
}

/** Builds unless the same sources are built already. */
export async function buildDashboard(): Promise<{ readonly isNew: boolean; readonly folder: string }> {
  const hash = sourceHash();
  const folder = path.join(dist, hash);
  const current = path.join(dist, "current");
  if (existsSync(folder) && existsSync(current) && readFileSync(current, "utf8") === hash) {
    return { isNew: false, folder };
  }
  if (!existsSync(folder)) writeBuild(await bundle(), folder);
  replace(current, hash);
  removeOld(hash);
  return { isNew: true, folder };
}

/** Everything that a build depends on: sources, libraries, and this file. */
function sourceHash(): string {
  const hash = createHash("sha256");
  const files = [...sources("packages/dashboard/src"), ...sources("sdks/typescript/src")];
  for (const file of ["package-lock.json", "tools/dashboard.ts", ...files.sort()]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(root, file)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

function sources(folder: string): string[] {
  return globSync(`${folder}/**/*.*`, { cwd: root }).filter((file) => !/\.test\.tsx?$/.test(file));
}

async function bundle(): Promise<Built> {
  return build({
    absWorkingDir: source,
    entryPoints: ["main.tsx", "early.ts"],
    outdir: path.join(dist, "out"),
    publicPath,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".svg": "file", ".woff2": "file" },
    entryNames: "[name].[hash]",
    chunkNames: "[name].[hash]",
    assetNames: "[name].[hash]",
    legalComments: "none",
    logLevel: "warning",
  });
}

function writeBuild(built: Built, folder: string): void {
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  for (const { path: file, contents } of built.outputFiles) {
    writeFileSync(path.join(unfinished, path.basename(file)), contents);
  }
  writeFileSync(path.join(unfinished, "index.html"), pageHtml(built));
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process has built the same.
    if (!existsSync(folder)) throw error;
  }
}

/** The page around the application. Scripts and styles are files: the security policy allows nothing inline. */
function pageHtml({ metafile }: Built): string {
  const main = outputOf(metafile, "main.tsx");
  const style = main.output.cssBundle ?? "";
  const [mark = ""] = outputsLike(metafile, /^mark\..*\.svg$/);
  const [font = ""] = outputsLike(metafile, /^geist-latin-wght-normal\..*\.woff2$/);
  const preloads = main.output.imports.filter(({ kind }) => kind === "import-statement");
  return `<!doctype html>
<html lang="tr">
<head>
<meta charset="utf-8">
<title>Emanet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${address(mark)}" type="image/svg+xml">
<link rel="preload" href="${address(font)}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${address(style)}">
<script src="${address(outputOf(metafile, "early.ts").file)}"></script>
${preloads.map(({ path: file }) => `<link rel="modulepreload" href="${address(file)}">`).join("\n")}
<script type="module" src="${address(main.file)}"></script>
</head>
<body>
<div id="app"></div>
<noscript>Emanet: JavaScript gerekli. JavaScript is required. <a href="/docs">API</a></noscript>
</body>
</html>
`;
}

function address(file: string): string {
  return `${publicPath}/${path.basename(file)}`;
}

type Output = Metafile["outputs"][string];

function outputOf({ outputs }: Metafile, entry: string): { readonly file: string; readonly output: Output } {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry);
  if (found === undefined) throw new Error(`the build has no output for ${entry}`);
  return { file: found[0], output: found[1] };
}

function outputsLike({ outputs }: Metafile, name: RegExp): string[] {
  return Object.keys(outputs).filter((file) => name.test(path.basename(file)));
}

function replace(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
}

function removeOld(current: string): void {
  const builds = globSync("*/index.html", { cwd: dist }).map((file) => path.dirname(file));
  const old = builds.filter((name) => name !== current);
  const byAge = old.map((name) => ({ name, at: statSync(path.join(dist, name)).mtimeMs })).sort((a, b) => b.at - a.at);
  for (const { name } of byAge.slice(keptBuilds - 1)) rmSync(path.join(dist, name), { recursive: true, force: true });
}

/** What a screen loads: the code of the entry, of the language and of its own route, with everything that they import. */
export interface Sizes {
  readonly firstScreen: number;
  readonly screens: Readonly<Record<string, number>>;
  readonly styles: number;
}

/** Sizes in kB after gzip. */
export async function measureDashboard(): Promise<Sizes> {
  const built = await bundle();
  const bytes = new Map(built.outputFiles.map((file) => [path.basename(file.path), gzipSync(file.contents).length]));
  const kb = (files: Iterable<string>) =>
    Math.round([...files].reduce((sum, file) => sum + (bytes.get(path.basename(file)) ?? 0), 0) / 100) / 10;
  const { metafile } = built;
  const screens = Object.values(metafile.outputs)
    .map(({ entryPoint = "" }) => entryPoint)
    .filter((entry) => /^screens\/.*\.tsx$/.test(entry));
  const together = (...entries: string[]) =>
    kb(
      new Set(
        ["main.tsx", "early.ts", ...entries].flatMap((entry) => closure(metafile, outputOf(metafile, entry).file)),
      ),
    );
  const styles = outputsLike(metafile, /\.css$/);
  return {
    firstScreen: together(...firstScreen),
    screens: Object.fromEntries(screens.sort().map((screen) => [screen, together(screen, "strings/tr.ts")])),
    styles: kb(styles),
  };
}

/** A file and all that it imports before it runs. */
function closure(metafile: Metafile, file: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const imports = metafile.outputs[file]?.imports ?? [];
  for (const { path: next, kind } of imports) if (kind === "import-statement") closure(metafile, next, seen);
  return [...seen];
}

async function check(): Promise<number> {
  const sizes = await measureDashboard();
  const lines = [
    { name: "first screen", kb: sizes.firstScreen, limit: budget.firstScreen },
    ...Object.entries(sizes.screens).map(([name, kb]) => ({ name, kb, limit: budget.anyScreen })),
    { name: "styles", kb: sizes.styles, limit: budget.styles },
  ];
  for (const { name, kb, limit } of lines) {
    console.log(`${kb <= limit ? "ok  " : "OVER"} ${name}: ${kb} kB of ${limit} kB (gzip)`);
  }
  return lines.every(({ kb, limit }) => kb <= limit) ? 0 : 1;
}
