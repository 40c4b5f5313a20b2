/** Files that hold secrets: mode 0600 in a folder of mode 0700, replaced as a whole. */

import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { CommandFailure, systemCode } from "../failure.ts";

/** Writes a file so that a crash leaves the old content or the new one, and others can never read it. */
export function writeSecretFile(file: string, content: string): void {
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A folder that was there before may be open to others.
  chmodSync(folder, 0o700);
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  const fd = openSync(draft, "wx", 0o600);
  try {
    writeSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, file);
}

/** The JSON object in a file; null if there is no such file. */
export function readJsonFile(file: string): Readonly<Record<string, unknown>> | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch (error) {
    throw new CommandFailure(`${file} is not JSON`, { cause: error });
  }
  throw new CommandFailure(`${file} does not hold a JSON object`);
}

/** A text of such an object; null where it is missing or something else. */
export function textIn(object: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = object[name];
  return typeof value === "string" && value !== "" ? value : null;
}
