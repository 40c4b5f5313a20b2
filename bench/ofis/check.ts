/** Compares a folder with the oracle: every file's content, size, time and kind, and that nothing else is there. */

import { createHash } from "node:crypto";
import { createReadStream, lstatSync, readdirSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { OracleDay, OracleFile } from "./oracle.ts";

export interface CheckOptions {
  /** Only files below this path of the tree, without the path itself: for parts that were backed up alone. */
  readonly below?: string;
  /** Files that may be missing: locked files that the program that made the copy could not read. */
  readonly mayMiss?: readonly string[];
}

/** How `folder` differs from the tree of that day: one sentence per difference. */
export async function findDifferences(
  folder: string,
  oracle: OracleDay,
  options: CheckOptions = {},
): Promise<string[]> {
  const prefix = options.below === undefined ? "" : `${options.below}/`;
  const mayMiss = new Set(options.mayMiss ?? []);
  const findings: string[] = [];
  const expected = new Map<string, OracleFile>();
  for (const file of oracle.files) if (file.path.startsWith(prefix)) expected.set(file.path.slice(prefix.length), file);
  for (const at of listFiles(folder)) {
    const file = expected.get(at);
    if (file === undefined) findings.push(`${at} is not in the oracle`);
    else findings.push(...(await differences(path.join(folder, at), at, file)));
    expected.delete(at);
  }
  for (const [at, file] of expected) if (!mayMiss.has(file.path)) findings.push(`${at} is missing`);
  return findings;
}

function* listFiles(folder: string, inside = ""): Generator<string> {
  for (const entry of readdirSync(path.join(folder, inside), { withFileTypes: true })) {
    const at = inside === "" ? entry.name : `${inside}/${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(folder, at);
    else yield at;
  }
}

async function differences(file: string, at: string, expected: OracleFile): Promise<string[]> {
  const stat = lstatSync(file);
  if (stat.isSymbolicLink() !== expected.link) return [`${at} is ${expected.link ? "no link" : "a link"}`];
  const sha256 = expected.link ? createHash("sha256").update(readlinkSync(file)).digest("hex") : await hashFile(file);
  if (sha256 !== expected.sha256) return [`${at} has other content (${stat.size} bytes for ${expected.size})`];
  if (!expected.link && Math.trunc(stat.mtimeMs / 1000) !== expected.mtime) return [`${at} has another time`];
  if (!expected.link && (stat.mode & 0o777) !== expected.mode) return [`${at} has another mode`];
  return [];
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(piece as Buffer);
  return hash.digest("hex");
}
