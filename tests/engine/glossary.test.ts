/** The glossary, the format document and the code use the same words. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Words in names of types that say how a thing is kept or used, and are not nouns of the glossary. */
const generalWords = new Set([
  ...["answer", "backup", "builder", "code", "details", "domain", "draft", "error", "file", "header"],
  ...["keys", "kind", "link", "move", "names", "new", "numbers", "open", "rebuilt", "registry", "result", "row"],
  ...["seal", "sink", "start", "state", "status", "table", "tree", "trusted", "version"],
  ...["list", "name", "sealed", "unknown"],
]);

/** Exported types of the format that name nothing of the format: tools for reading and writing bytes. */
const toolTypes = new Set([
  ...["AllocateFrame", "ByteReader", "ByteWriter", "FormatError", "NameOrder", "OnListNode", "RangeReader"],
  "XWingEncapsulation",
]);

/** Headings and bold words of FORMAT.md that define no noun. */
const otherHeadings = new Set([
  ...["the format", "ids", "keys", "cutting", "trees", "order of writing and reading", "versions", "who sees what"],
  ...["reading a pack with standard tools", "not kept", "derivation", "re-wrapping", "a new block-id epoch", "erasure"],
]);

/**
 * Names that are gone. A class name is searched as a whole identifier, in every file. A word is searched without regard to
 * case, as a whole word and with its endings, in the engine, its command, its tests and its documents: elsewhere it may mean
 * something else (a mail relay, a transaction that is rolled back).
 */
const oldClasses = [
  ...["FrameShop", "JobBoard", "CutStation", "CutPool", "CutThread", "FileLine", "TreeLine", "PackLine", "FrameFeed"],
  ...["FrameLedger", "VaultIndex", "OpenDirectory", "WritePool", "IndexPort", "MemoryIndex", "SqliteIndex"],
  ...["PlantedBug", "FrameRoom", "PackChecks", "FrameMark", "CondemnAnswer", "KnownTexts", "WorldKind"],
  ...["restingOn", "takesChange", "givenNonce", "beginClaimed", "clearWrongMarks"],
  ...["visitLibrary", "currentVisit", "tellOfChange", "scopeWords", "mendSpecs"],
];
const oldWords = [
  "repoint",
  "restate",
  "shelf",
  "station",
  "glimpse",
  "vouch",
  "relay",
  "whoever",
  "lane",
  "prove",
  "judge",
  "sight",
  "ledger",
];

/** Where old names are searched. */
const searched = ["packages", "bench", "tests", "tools", "docs"];
const engineFolders = ["packages/engine", "packages/engine-cli", "tests/engine", "bench/engine", "docs/FORMAT.md"];

/** Where old names may stay: history, the table of old names, and this list. */
const exempt = ["docs/decisions", "docs/GLOSSARY.md", "tests/engine/glossary.test.ts", "bench/results"];

describe("the glossary", () => {
  const nouns = glossaryNouns();

  test("every line has a meaning, and a word or a dash for each of the three other programs", () => {
    for (const line of tableLines("docs/GLOSSARY.md").filter((each) => each.startsWith("| **"))) {
      const cells = line.split("|").slice(1, -1);
      assert.equal(cells.length, 5, line);
      for (const cell of cells) assert.notEqual(cell.trim(), "", line);
    }
    assert.ok(nouns.size > 60, `${nouns.size} nouns were found`);
  });

  test("every noun that FORMAT.md defines has a line", () => {
    const text = read("docs/FORMAT.md");
    const headings = [...text.matchAll(/^#+ (?:\d+\. )?([^(\n]+)/gm)].map(([, heading]) => heading ?? "");
    const bold = [...text.matchAll(/^\*\*([^*]+)\*\*/gm)].map(([, word]) => word ?? "");
    const defined = [...headings, ...bold].map((word) => word.trim().toLowerCase().replace(/\.$/, ""));
    assert.ok(defined.length > 15, "headings and bold words were found");
    const missing = defined.filter((word) => !otherHeadings.has(word) && !isNoun(nouns, word));
    assert.deepEqual(missing, []);
  });

  test("every exported type of the format and of the catalog port is made of the glossary's nouns", () => {
    const files = [...filesBelow("packages/engine/src/format"), "packages/engine/src/catalog/catalog.ts"];
    const names = files
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .flatMap((file) => [...read(file).matchAll(/^export (?:class|interface|type) (\w+)/gm)])
      .map(([, name]) => name ?? "");
    assert.ok(names.length > 40, "exported types were found");
    const missing = names.filter((name) => !toolTypes.has(name) && !isMadeOfNouns(nouns, wordsOf(name)));
    assert.deepEqual(missing, []);
  });

  test("old names occur only in the glossary and in decision records", () => {
    const found: string[] = [];
    for (const file of searched.flatMap(filesBelow)) {
      if (exempt.some((place) => isBelow(file, place))) continue;
      const text = read(file);
      const words = engineFolders.some((place) => isBelow(file, place)) ? oldWords : [];
      for (const name of oldClasses) if (new RegExp(`\\b${name}\\b`).test(text)) found.push(`${file}: ${name}`);
      for (const word of words)
        if (new RegExp(`\\b${word}(?:s|d|ed|ing)?\\b`, "i").test(text)) found.push(`${file}: ${word}`);
    }
    assert.deepEqual(found, []);
  });
});

/** The bold words of the glossary's tables, in lower case. */
function glossaryNouns(): ReadonlySet<string> {
  const bold = tableLines("docs/GLOSSARY.md").flatMap((line) => [...line.matchAll(/\*\*([^*]+)\*\*/g)]);
  return new Set(bold.flatMap(([, words]) => (words ?? "").split(",")).map((word) => word.trim().toLowerCase()));
}

function tableLines(file: string): string[] {
  return read(file)
    .split("\n")
    .filter((line) => line.startsWith("|"));
}

/** Whether the word, or the word of which it is the plural, is a noun of the glossary. */
function isNoun(nouns: ReadonlySet<string>, word: string): boolean {
  return nouns.has(word) || (word.endsWith("s") && nouns.has(word.slice(0, -1)));
}

/** Whether words can be split into nouns and general words, at least one of them a noun. */
function isMadeOfNouns(nouns: ReadonlySet<string>, words: readonly string[], hasNoun = false): boolean {
  if (words.length === 0) return hasNoun;
  for (let length = words.length; length > 0; length--) {
    const head = words.slice(0, length).join(" ");
    const noun = isNoun(nouns, head);
    if ((noun || generalWords.has(head)) && isMadeOfNouns(nouns, words.slice(length), hasNoun || noun)) return true;
  }
  return false;
}

/** `BlockList` as "block", "list". */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(" ");
}

function filesBelow(folder: string): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) files.push(...filesBelow(file));
    else if (/\.(ts|tsx|mjs|as|sql|md|json|txt|yml)$/.test(entry.name)) files.push(file);
  }
  return files;
}

function isBelow(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`);
}

function read(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}
