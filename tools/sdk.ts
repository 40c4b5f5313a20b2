// Builds the TypeScript client into a folder, as it is published, and prints its size.
//
//   npm run sdk [-- <folder>]        default: sdks/typescript/dist
//
// One JavaScript file for Node 20 and browsers, and the types beside it.

import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const source = path.join(root, "sdks", "typescript", "src");

export interface BuiltClient {
  /** Of the file that is published. */
  readonly bytes: number;
  /** As a web page of a user would load it. */
  readonly minifiedBytes: number;
  readonly brotliBytes: number;
}

if (import.meta.main) {
  const folder = path.resolve(process.argv[2] ?? path.join(root, "sdks", "typescript", "dist"));
  const { bytes, minifiedBytes, brotliBytes } = await buildClient(folder);
  console.log(`client: ${bytes} bytes; minified ${minifiedBytes}; minified with Brotli ${brotliBytes}`);
}

/** Writes `index.js` and the `.d.ts` files. */
export async function buildClient(folder: string): Promise<BuiltClient> {
  const options: BuildOptions = {
    entryPoints: [path.join(source, "index.ts")],
    bundle: true,
    format: "esm",
    target: ["node20", "es2022"],
    platform: "neutral",
  };
  const outfile = path.join(folder, "index.js");
  await build({ ...options, outfile });
  const { outputFiles } = await build({ ...options, minify: true, write: false as const });
  await emitTypes(folder);
  const minified = outputFiles[0]?.contents ?? new Uint8Array();
  const { size: bytes } = await stat(outfile);
  return { bytes, minifiedBytes: minified.length, brotliBytes: brotliCompressSync(minified).length };
}

async function emitTypes(folder: string): Promise<void> {
  const tsc = realpathSync(path.join(root, "node_modules", ".bin", "tsc"));
  const flags = ["--declaration", "--emitDeclarationOnly", "--strict", "--target", "es2022", "--module", "nodenext"];
  const paths = ["--rewriteRelativeImportExtensions", "--allowImportingTsExtensions", "--outDir", folder];
  const types = ["--types", "node", "--skipLibCheck"];
  await promisify(execFile)(
    process.execPath,
    [tsc, "--ignoreConfig", ...flags, ...paths, ...types, path.join(source, "index.ts")],
    {
      cwd: root,
    },
  );
}
