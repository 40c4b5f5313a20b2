/**
 * The tree of a small office for the small-nights part: many small text files in a few folders, of which a few scattered
 * ones are saved every day. The same seed makes the same bytes.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SeededRandom } from "../ofis/seeded-random.ts";

export interface SmallOffice {
  readonly seed: number;
  readonly folders: number;
  readonly files: number;
  readonly fileBytes: number;
  readonly changedPerNight: number;
}

/** Letters, delivery notes and tables of a small office. In every folder one file is saved on a day. */
export const smallOffice: SmallOffice = { seed: 1, folders: 20, files: 5000, fileBytes: 6000, changedPerNight: 20 };

/** Where a file is in the tree. */
export function pathInSmallOffice(office: SmallOffice, file: number): string {
  return `${folderName(file % office.folders)}/irsaliye-${String(file).padStart(5, "0")}.txt`;
}

/** Makes the tree of day 0. */
export function makeSmallOffice(folder: string, office: SmallOffice): void {
  for (let i = 0; i < office.folders; i++) mkdirSync(path.join(folder, folderName(i)), { recursive: true });
  for (let i = 0; i < office.files; i++) writeFile(folder, office, i, 0);
}

/** Saves files again, spread over all folders. Returns their number of bytes. */
export function changeSmallOffice(folder: string, office: SmallOffice, night: number): number {
  const random = new SeededRandom(office.seed, `small office, night ${night}`);
  let bytes = 0;
  for (let i = 0; i < office.changedPerNight; i++) {
    const place = random.below(Math.floor(office.files / office.folders));
    bytes += writeFile(folder, office, place * office.folders + (i % office.folders), night);
  }
  return bytes;
}

function folderName(index: number): string {
  return `Klasör ${String(index + 1).padStart(2, "0")}`;
}

function writeFile(folder: string, office: SmallOffice, file: number, night: number): number {
  const random = new SeededRandom(office.seed, `small office, file ${file}, night ${night}`);
  const content = textOf(random, office.fileBytes);
  writeFileSync(path.join(folder, pathInSmallOffice(office, file)), content);
  return content.length;
}

/** Lines of words and figures. They compress about 2 : 1, as notes with names, numbers and amounts do. */
function textOf(random: SeededRandom, bytes: number): string {
  let text = "";
  while (text.length < bytes) {
    const word = syllables[random.below(syllables.length)] ?? "";
    text += `${word}${syllables[random.below(syllables.length)] ?? ""}\t${random.below(100_000_000)}\n`;
  }
  return text.slice(0, bytes);
}

const syllables =
  "ada bel cam dal ela fer gül han ırk iki jül kar lor mas nar ova öz pul ram sel şal tuz ulu üst vur yel zar".split(
    " ",
  );
