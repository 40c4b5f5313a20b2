/**
 * Builds `cutter.wasm` from `cutter.as`. Run directly it writes the file; `build.test.ts` calls `buildCutter` and
 * compares the result with the checked-in file, so the binary always matches its source.
 */

import { readFile, writeFile } from "node:fs/promises";

const cutterFolder = new URL("../", import.meta.url);

/** Another flag gives other bytes: the checked-in file must then be rebuilt. */
const flags = ["--optimizeLevel", "3", "--shrinkLevel", "0", "--converge", "--runtime", "stub", "--importMemory"];

/** The part of the AssemblyScript compiler that is used here. */
interface Compiler {
  main(args: readonly string[], host: CompilerHost): Promise<{ readonly error: Error | null; readonly stderr: object }>;
}

interface CompilerHost {
  readFile(name: string): string | null;
  writeFile(name: string, contents: string | Uint8Array): void;
  listFiles(): readonly string[];
}

/** Not a literal import: the compiler's types declare a global `console` that would hide Node's in the whole repository. */
const compiler: string = "assemblyscript/asc";

/** Compiles the committed source and returns the WebAssembly bytes. */
export async function buildCutter(): Promise<Uint8Array> {
  const { main } = (await import(compiler)) as Compiler;
  const source = await readFile(new URL("cutter.as", cutterFolder), "utf8");
  let wasm: Uint8Array | null = null;
  const { error, stderr } = await main(["cutter.ts", ...flags, "--noExportMemory", "--outFile", "cutter.wasm"], {
    readFile: (name) => (name === "cutter.ts" ? source : null),
    writeFile: (name, contents) => {
      if (name === "cutter.wasm" && typeof contents !== "string") wasm = new Uint8Array(contents);
    },
    listFiles: () => [],
  });
  if (error !== null || wasm === null) throw new Error(`the cutter does not compile: ${String(stderr)}`);
  return wasm;
}

if (import.meta.main) await writeFile(new URL("cutter.wasm", cutterFolder), await buildCutter());
