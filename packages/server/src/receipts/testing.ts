/** The programs of docs/receipts, which check receipts and proofs of erasure without the service. */

import { execFile } from "node:child_process";
import path from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { needs, type Program } from "../testing/needs.ts";

const run = promisify(execFile);
const at = (file: string) => path.resolve(import.meta.dirname, "../../../../docs/receipts", file);

/** What runs each of them, and how: those that have to be compiled are. */
const verifiers: Readonly<
  Record<string, readonly [Program | null, (program: string, folder: string) => Promise<readonly string[]>]>
> = {
  "verify.mjs": [null, async (node) => [node, at("verify.mjs")]],
  "verify.py": ["python", async (python) => [python, at("verify.py")]],
  "verify.go": [
    "go",
    async (go, folder) => {
      const binary = path.join(folder, "verify");
      // As the S3 server of the tests is built: Go has its own packages compiled then.
      await run(go, ["build", "-trimpath", "-o", binary, at("verify.go")]);
      return [binary];
    },
  ],
  "Verify.java": [
    "java",
    async (java, folder) => {
      await run(java, ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", folder, at("Verify.java")]);
      return [java, "-cp", folder, "Verify"];
    },
  ],
};

export const verifierFiles = Object.keys(verifiers);

/** The command line of a verifier, without its files. Null: its language is not installed, and the test is skipped. */
export async function prepareVerifier(t: TestContext, file: string, folder: string): Promise<readonly string[] | null> {
  const [program = null, prepare] = verifiers[file] ?? [];
  const found = program === null ? process.execPath : needs(t, program);
  return found === undefined || prepare === undefined ? null : prepare(found, folder);
}
