/**
 * Builds `cutter.wasm` from `cutter.as`. Run directly it writes the file; `build.test.ts` calls `buildCutter` and
 * compares with what is checked in, so the binary can never drift from its source.
 */

import { readFile, writeFile } from "node:fs/promises";
import asc from "assemblyscript/asc";

const here = new URL("./", import.meta.url);

/** Flags are part of the result: change one and the checked-in bytes change. */
const flags = ["--optimizeLevel", "3", "--shrinkLevel", "0", "--converge", "--runtime", "stub", "--importMemory"];

/** Compiles the committed source and returns the WebAssembly bytes. */
export async function buildCutter(): Promise<Uint8Array> {
  const source = await readFile(new URL("cutter.as", here), "utf8");
  let wasm: Uint8Array | null = null;
  const { error, stderr } = await asc.main(["cutter.ts", ...flags, "--noExportMemory", "--outFile", "cutter.wasm"], {
    readFile: (name) => (name === "cutter.ts" ? source : null),
    writeFile: (name, contents) => {
      if (name === "cutter.wasm" && typeof contents !== "string") wasm = new Uint8Array(contents);
    },
    listFiles: () => [],
  });
  if (error !== null || wasm === null) throw new Error(`the cutter does not compile: ${stderr.toString()}`);
  return wasm;
}

if (import.meta.main) await writeFile(new URL("cutter.wasm", here), await buildCutter());
