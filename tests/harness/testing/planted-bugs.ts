/**
 * Bugs for a copy of the sources, to show that the harness finds them. Each replaces one text of one file; nothing of it is in the
 * service.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

export interface BugToPlant {
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly right: string;
  readonly wrong: string;
}

export const plantedBugs: readonly BugToPlant[] = [
  {
    name: "prune does not mark what the first snapshot needs",
    file: "packages/engine/src/upkeep/live-set.ts",
    right: "for await (const bytes of bitmaps) union.or(Bitmap.decode(bytes));",
    wrong:
      "let isFirst = true;\n  for await (const bytes of bitmaps) {\n    if (!isFirst) union.or(Bitmap.decode(bytes));\n    isFirst = false;\n  }",
  },
  {
    name: "leases end a day too early",
    file: "packages/server/src/catalog/postgres-catalog.ts",
    right: "async expireUploads(now: number): Promise<readonly string[]> {",
    wrong: "async expireUploads(at: number): Promise<readonly string[]> {\n    const now = at + 86_400_000;",
  },
  {
    name: "the chain does not record that a snapshot is held",
    file: "packages/engine/src/upkeep/snapshot-changes.ts",
    right: 'return { kind: "retention", snapshot: id, retention, reason, by };',
    wrong: 'return { kind: "retention", snapshot: id, retention: { ...retention, hold: false }, reason, by };',
  },
  {
    name: "a policy that removes earlier waits 7 hours",
    file: "packages/server/src/retention/rules.ts",
    right: "export const waitMs = 72 * hourMs;",
    wrong: "export const waitMs = 7 * hourMs;",
  },
  {
    name: "a deleted snapshot can be brought back for 24 hours",
    file: "packages/server/src/snapshots/rules.ts",
    right: "export const undeleteMs = 72 * hourMs;",
    wrong: "export const undeleteMs = 24 * hourMs;",
  },
];

/** The file with the bug. Throws where the text does not occur once: the sources have changed. */
export async function withBug(root: string, { name, file, right, wrong }: BugToPlant): Promise<string> {
  const text = await readFile(path.join(root, file), "utf8");
  assert.equal(text.split(right).length, 2, `${name}: "${right}" must occur once in ${file}`);
  return text.replace(right, () => wrong);
}

/** A copy of the checkout's files with its modules as hard links. */
export async function copyOfCheckout(root: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of files.toString().split("\0").filter(Boolean))
    await cp(path.join(root, file), path.join(folder, file), { recursive: true }).catch(ignoreRemoved);
  const modules = execFileSync("git", ["ls-files", "-z", "--", "**/package.json", "package.json"], { cwd: root });
  for (const file of modules.toString().split("\0").filter(Boolean)) {
    const from = path.join(root, path.dirname(file), "node_modules");
    const to = path.join(folder, path.dirname(file), "node_modules");
    execFileSync("sh", ["-c", 'if [ -d "$1" ]; then cp -al "$1" "$2"; fi', "sh", from, to]);
  }
}

/** A file of the index that is not in the folder any more. */
function ignoreRemoved(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

export async function plant(root: string, copy: string, bug: BugToPlant): Promise<() => Promise<void>> {
  const place = path.join(copy, bug.file);
  await writeFile(place, await withBug(root, bug));
  return () => cp(path.join(root, bug.file), place);
}
