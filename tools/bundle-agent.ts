/**
 * `npm run bundle:agent`: the command `emanet` as an npm package: a few files of JavaScript, the WebAssembly of the cutter included; beside
 * them is the launcher, which finds a Node that is new enough. What a thread does not need is in other files than what it does: one
 * file would have each thread load Node's clients of HTTP and SQLite too, a tenth of a second each.
 */

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { build, type Plugin, stop } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");

const help = `npm run bundle:agent -- [--out DIR]

Writes the agent as an npm package to DIR (default dist/agent): a folder that is missing, empty or an older bundle.
Run it with: node DIR/cli.mjs --help`;

const wasmFile = "packages/engine/src/workers/cutter/cutter.wasm";
const wasmRead = 'readFileSync(new URL("cutter.wasm", import.meta.url))';

/** Puts the WebAssembly of the cutter into the code. */
const embeddedWasm: Plugin = {
  name: "embedded wasm",
  setup({ onLoad }) {
    onLoad({ filter: /cutter[/\\]cutter\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      if (!text.includes(wasmRead)) throw new Error("the cutter reads its WebAssembly in another way now");
      const base64 = readFileSync(path.join(root, wasmFile)).toString("base64");
      return { contents: text.replace(wasmRead, `Buffer.from("${base64}", "base64")`), loader: "ts" };
    });
  },
};

/** Writes the package and returns the file to be run. */
export async function bundleAgent(out: string): Promise<string> {
  const launcher = path.join(out, "cli.mjs");
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(launcher))
    throw new Error(`${out} is neither empty nor a bundle; name another folder with --out`);
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { emanet: "packages/agent/src/main.ts" },
    outdir: path.resolve(out),
    outExtension: { ".js": ".mjs" },
    chunkNames: "emanet-[hash]",
    splitting: true,
    write: false,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node26",
    legalComments: "none",
    logLevel: "warning",
    plugins: [embeddedWasm],
  });
  // The compiler is another process, which would not end.
  await stop();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const { path: file, contents } of outputFiles) writeFileSync(file, contents);
  copyFileSync(path.join(root, "packages/agent/launcher/cli.mjs"), launcher);
  writeFileSync(path.join(out, "package.json"), `${JSON.stringify(packageFile(), null, 2)}\n`);
  return launcher;
}

/** The package brings the pinned Node along, for machines whose own is older. */
function packageFile() {
  const read = (file: string) => JSON.parse(readFileSync(path.join(root, file), "utf8")) as Record<string, unknown>;
  const { version, license } = { ...read("package.json"), ...read("packages/agent/package.json") };
  return {
    name: "emanet",
    version,
    description: "Backs up this machine to Emanet",
    license,
    type: "module",
    engines: { node: ">=16" },
    bin: { emanet: "cli.mjs" },
    files: ["cli.mjs", "emanet.mjs", "emanet-*.mjs"],
    optionalDependencies: read("package.json").optionalDependencies,
  };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string" }, help: { type: "boolean", short: "h" } } });
  try {
    console.log(values.help === true ? help : await bundleAgent(values.out ?? path.join(root, "dist/agent")));
  } catch (error) {
    console.error(`bundle: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
