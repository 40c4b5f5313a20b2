/**
 * `npm run bundle`: the `engine` command as few files of plain JavaScript. A command that finds nothing changed spends an
 * eighth of its time on resolving and linking its fifty modules (docs/decisions/0125); whoever installs the command gets
 * this form of it. The sources run as they are, too: `npm run engine`.
 */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");

const help = `npm run bundle -- [--out DIR]

Writes the engine command as JavaScript to DIR (default dist/engine), which is emptied first.
Run it with Node 26: node DIR/main.mjs --help`;

/** What the command reads from beside its own code. */
const assets = ["packages/engine/src/cutter/cutter.wasm"];

/** Writes the bundle into a folder, which is emptied first; returns the file to be run. */
export async function bundleEngine(out: string): Promise<string> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: ["packages/engine-cli/src/main.ts"],
    outdir: path.resolve(out),
    bundle: true,
    // What a command does not need stays in files that it does not load, and each thread starts in a file of its own.
    splitting: true,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node26",
    legalComments: "none",
    logLevel: "warning",
  });
  for (const asset of assets) copyFileSync(path.join(root, asset), path.join(out, path.basename(asset)));
  return path.join(out, "main.mjs");
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string" }, help: { type: "boolean" } } });
  if (values.help === true) console.log(help);
  else console.log(await bundleEngine(values.out ?? path.join(root, "dist/engine")));
}
