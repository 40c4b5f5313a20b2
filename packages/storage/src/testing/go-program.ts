/**
 * Programs written in Go that tests and benchmarks use. A program is taken from the PATH, else from `.cache/`,
 * else built there from a module that names it by exact version: the same bytes on every machine, no release server.
 */

import { execFile } from "node:child_process";
import { access, mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cache = fileURLToPath(new URL("../../../../.cache", import.meta.url));

/** From an empty Go cache on two busy cores the largest of them took some minutes. */
const buildLimitMs = 15 * 60_000;

export interface GoProgram {
  readonly name: string;
  readonly version: string;
  /** Folder with the go.mod and go.sum that name the program's module by exact version. */
  readonly moduleFolder: string;
  /** Import path of its main package. */
  readonly mainPackage: string;
  /** Arguments that print the version, to see whether the program is on the PATH. */
  readonly versionArguments: readonly string[];
}

/** Path of a program, or null where it is not there and cannot be built because there is no Go. */
export async function findGoProgram(program: GoProgram): Promise<string | null> {
  if (await succeeds(program.name, program.versionArguments)) return program.name;
  const built = path.join(cache, `${program.name}-${program.version}-${process.platform}-${process.arch}`);
  if (await exists(built)) return built;
  return (await succeeds("go", ["version"])) ? build(program, built) : null;
}

async function build({ mainPackage, moduleFolder }: GoProgram, target: string): Promise<string> {
  await mkdir(cache, { recursive: true });
  // Built under another name and renamed: two builds at once waste a minute, but none runs an incomplete program.
  const unfinished = `${target}.${process.pid}`;
  try {
    const command = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", unfinished];
    await run("go", [...command, mainPackage], { cwd: moduleFolder, timeout: buildLimitMs });
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { force: true });
  }
  return target;
}

async function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  return run(program, [...args]).then(
    () => true,
    () => false,
  );
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
