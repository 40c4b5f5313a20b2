/** The glossary, the format document and the code use the same words. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
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
  ...["NodeChecker", "PassEntry", "PlainFile"],
  "XWingEncapsulation",
]);

/** Headings and bold words of FORMAT.md that define no noun. */
const otherHeadings = new Set([
  ...["the format", "ids", "keys", "cutting", "trees", "order of writing and reading", "versions", "who sees what"],
  ...["reading a pack with standard tools", "not kept", "derivation", "re-wrapping", "a new block-id epoch", "erasure"],
]);

/**
 * Names that are gone. A name of code is searched as a whole identifier, in every file. A word is searched without regard
 * to case, as a whole word and with its endings. Some words may be used where they mean something else: a mail relay, a
 * ledger of an accountant, a client that proves who it is. They are searched in the engine only.
 */
const oldNames = [
  ...["FrameShop", "JobBoard", "CutStation", "CutPool", "CutThread", "FileLine", "TreeLine", "PackLine", "FrameFeed"],
  ...["FrameLedger", "VaultIndex", "OpenDirectory", "WritePool", "IndexPort", "MemoryIndex", "SqliteIndex"],
  ...["PlantedBug", "FrameRoom", "PackChecks", "FrameMark", "CondemnAnswer", "KnownTexts", "WorldKind"],
  ...["restingOn", "takesChange", "givenNonce", "beginClaimed", "clearWrongMarks"],
  ...["visitLibrary", "currentVisit", "tellOfChange", "scopeWords", "mendSpecs"],
  ...["SegmentQuestions", "NodeQuestions", "FrameTask", "RestoreScope", "FileReadError", "rebuildBehind", "catchUp"],
  ...["Surroundings", "ScopedStatements"],
];
const oldWords = [
  ...["repoint", "restate", "shelf", "shelves", "station", "glimpse", "vouch", "whoever", "lest", "lane", "sight"],
  ...["shop", "desk", "door", "board", "room", "house", "mend", "sweep", "dice"],
];
const oldWordsOfEngine = ["relay", "prove", "judge", "ledger", "stranger", "somebody", "anew"];
/** Only without an ending: a transaction is rolled back. */
const oldWordsWithoutEnding = ["roll", "rolls", "face"];

const everywhere = [
  ...oldNames.map((name) => new RegExp(`\\b${name}\\b`)),
  ...oldWords.map(wordPattern),
  ...oldWordsWithoutEnding.map((word) => new RegExp(`\\b${word}\\b`, "i")),
];
const inEngine = oldWordsOfEngine.map(wordPattern);

/** Where old names are searched. */
const searched = ["packages", "sdks", "bench", "tests", "tools", "docs", ".ci", "README.md", "CONTRIBUTING.md"];
const engineFolders = ["packages/engine", "packages/engine-cli", "tests/engine", "bench/engine", "docs/FORMAT.md"];

/** Where old names may stay: history, migrations that were applied, the table of old names, and this list. */
const exempt = [
  ...["docs/decisions", "docs/GLOSSARY.md", "tests/engine/glossary.test.ts", "bench/results"],
  "packages/server/migrations",
];

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

  test("old names occur only in the glossary, in decision records and in applied migrations", () => {
    const found: string[] = [];
    for (const file of searched.flatMap(filesBelow)) {
      if (exempt.some((place) => isBelow(file, place))) continue;
      const text = read(file);
      const isOfEngine = engineFolders.some((place) => isBelow(file, place));
      for (const pattern of isOfEngine ? [...everywhere, ...inEngine] : everywhere) {
        const hit = pattern.exec(text);
        if (hit !== null) found.push(`${file}: ${hit[0]}`);
      }
    }
    assert.deepEqual(found, []);
  });

  test("every name of code in the glossary occurs in the code", () => {
    const names = [...read("docs/GLOSSARY.md").matchAll(/`([A-Za-z]+)`/g)].map(([, name]) => name ?? "");
    assert.ok(names.length > 30, "names of code were found");
    const code = ["packages", "bench", "tests"]
      .flatMap(filesBelow)
      .filter((file) => file !== "tests/engine/glossary.test.ts")
      .map(read)
      .join("\n");
    const words = new Set(code.match(/\w+/g));
    assert.deepEqual(
      names.filter((name) => !words.has(name)),
      [],
    );
  });

  test("every decision record says problem, options and decision", () => {
    const records = filesBelow("docs/decisions").filter((file) => /\/\d{4}-/.test(file));
    assert.ok(records.length > 50, "decision records were found");
    const missing = records.flatMap((file) => {
      const text = read(file);
      const labels = ["problem", "option", "decision"];
      return labels
        .filter((label) => !new RegExp(`\\*\\*[^*\\n]*${label}`, "i").test(text))
        .map((label) => `${file}: ${label}`);
    });
    assert.deepEqual(missing, []);
  });
});

function wordPattern(word: string): RegExp {
  return new RegExp(`\\b${word}(?:s|d|ed|ing)?\\b`, "i");
}

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

/** The text files below a folder, or the file itself. */
function filesBelow(folder: string): string[] {
  if (statSync(path.join(root, folder)).isFile()) return [folder];
  const files: string[] = [];
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name === "dist" || entry.name.startsWith(".")) continue;
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
