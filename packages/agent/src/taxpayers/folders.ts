/** Finds the folders of taxpayers: those whose name has a tax number. */

import { readdirSync } from "node:fs";
import path from "node:path";
import { systemCode } from "../failure.ts";
import { taxIdIn } from "./tax-id.ts";

/** Below the folder that was named: `Luca/4540536920`, `Zirve/2025/4540536920 Örnek Ltd`. */
const maxDepth = 4;

export interface TaxpayerFolders {
  readonly taxId: string;
  /** Relative to the folder that was named, with `/`. */
  readonly folders: readonly string[];
}

/** The folders of each taxpayer, in the order of their numbers. What is inside such a folder belongs to it. */
export function findTaxpayerFolders(root: string): readonly TaxpayerFolders[] {
  const found = new Map<string, string[]>();
  const visit = (inside: string, depth: number) => {
    for (const name of foldersIn(path.join(root, inside))) {
      const folder = inside === "" ? name : `${inside}/${name}`;
      const taxId = taxIdIn(name);
      if (taxId !== null) found.set(taxId, [...(found.get(taxId) ?? []), folder]);
      else if (depth < maxDepth) visit(folder, depth + 1);
    }
  };
  visit("", 1);
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([taxId, folders]) => ({ taxId, folders: folders.sort() }));
}

/** Links are not followed. A folder that cannot be read is reported by the backup that needs it. */
function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (systemCode(error) === "EACCES" || systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** Takes the folders of one taxpayer, what is below them, and the folders above them. */
export function keepsFolders(folders: readonly string[]): (path: string, isDirectory: boolean) => boolean {
  return (entry, isDirectory) =>
    folders.some(
      (folder) => entry === folder || entry.startsWith(`${folder}/`) || (isDirectory && folder.startsWith(`${entry}/`)),
    );
}
