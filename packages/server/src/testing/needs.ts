/**
 * Programs that a test drives but npm does not bring. On a developer's machine a test without its program is skipped
 * with the reason; where `CI` is set it fails, because a test that CI silently skips guards nothing.
 */

import { accessSync, constants } from "node:fs";
import path from "node:path";

/** Names to look for on the PATH, best first. `tools/system-packages.sh` installs the first of each. */
const commands = {
  aria2c: ["aria2c"],
  bsdtar: ["bsdtar"],
  /** The shell draws no window: its tests take two thirds of the CPU time. */
  chromium: ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
  curl: ["curl"],
  go: ["go"],
  /** A JDK: it runs programs from their source. */
  java: ["java"],
  openssl: ["openssl"],
  php: ["php"],
  python: ["python3"],
  redis: ["redis-server", "valkey-server"],
  sevenZip: ["7z", "7zz", "7za"],
  tar: ["tar"],
  unzip: ["unzip"],
  wget: ["wget"],
  zip: ["zip"],
} as const satisfies Record<string, readonly string[]>;

export type Program = keyof typeof commands;

/** The part of a test's context that is used. */
export interface Skippable {
  skip(message?: string): void;
}

/**
 * The path of a program. When it is missing, `undefined` after the test was marked as skipped, or an error in CI.
 *
 * @example
 * test("…", async (t) => {
 *   const curl = needs(t, "curl");
 *   if (curl === undefined) return;
 *   …
 * });
 */
export function needs(
  t: Skippable,
  program: Program,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const found = find(commands[program], environment.PATH ?? "");
  if (found !== undefined) return found;
  const message = `${program} is not installed: run tools/system-packages.sh`;
  const { CI } = environment;
  if (CI !== undefined && CI !== "" && CI !== "false") throw new Error(message);
  t.skip(message);
  return undefined;
}

function find(names: readonly string[], searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== "");
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, name);
      if (isExecutable(file)) return file;
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
