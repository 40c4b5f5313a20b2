/**
 * `npm run bundle`: the `engine` command as few files of plain JavaScript. A command that finds nothing changed spends a
 * sixth of its time on finding, reading and linking its fifty modules (docs/decisions/0125); an installed
 * command has this form. The sources run without a bundle too: `npm run engine`.
 */

import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { build, stop } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");

const help = `npm run bundle -- [--out DIR]

Writes the engine command as JavaScript to DIR (default dist/engine): a folder that is missing, empty or an older bundle.
Run it with Node 26: node DIR/main.mjs --help`;

/** Files that the command reads beside its code. */
const assets = ["packages/engine/src/workers/cutter/cutter.wasm"];

/** Writes the bundle into a folder that is missing, empty or an older bundle; returns the file to be run. */
export async function bundleEngine(out: string): Promise<string> {
  const main = path.join(out, "main.mjs");
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(main))
    throw new Error(`${out} is neither empty nor a bundle; name another folder with --out`);
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["packages/engine-cli/src/main.ts"],
    outdir: path.resolve(out),
    write: false,
    bundle: true,
    // Code that a command does not need is in files that it does not load.
    splitting: true,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node26",
    legalComments: "none",
    logLevel: "warning",
  });
  // The compiler is another process, which would not end.
  await stop();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const { path: file, contents } of outputFiles) writeFileSync(file, contents);
  for (const asset of assets) copyFileSync(path.join(root, asset), path.join(out, path.basename(asset)));
  return main;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string" }, help: { type: "boolean", short: "h" } } });
  try {
    console.log(values.help === true ? help : await bundleEngine(values.out ?? path.join(root, "dist/engine")));
  } catch (error) {
    console.error(`bundle: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
