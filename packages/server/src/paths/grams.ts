/**
 * Which names can contain a query, by *grams*: three letters in a row. A name has a gram for each of its letters, with two places in front
 * of the first, so that a name is also found by its first letter or two.
 */

import { fold } from "./fold.ts";

/** What stands in front of a name. No name contains it. */
const before = "\0\0";
const gramLength = 3;

/** Letters of a name that have grams: four times what file systems allow. Longer names are found by their beginning. */
const maxIndexedLetters = 1024;

/** Grams that are looked up for a query. The other letters are compared once a name was found. */
const maxQueryGrams = 8;

/** The grams of a name, each once. */
export function gramsOf(name: string): Set<string> {
  return windows(before + fold(name).slice(0, maxIndexedLetters));
}

function windows(text: string): Set<string> {
  const found = new Set<string>();
  for (let at = 0; at + gramLength <= text.length; at++) found.add(text.slice(at, at + gramLength));
  return found;
}

/** A word of a query. */
interface Word {
  /** What must be in the name; at its beginning where `isBeginning`. */
  readonly name: string;
  readonly isBeginning: boolean;
  /** What the folder of the name must end with; empty without a slash. */
  readonly folder: string;
}

/** A query: words that must all be in a name, in any order. */
export interface NameQuery {
  readonly words: readonly Word[];
  /** Every name that matches has these. Empty if the query has no letter: it matches nothing. */
  readonly grams: readonly string[];
}

/**
 * Reads a query. Words are separated by spaces. A word of one or two letters is the beginning of a name. A word with a slash says where
 * the name is: `mart/fat` finds names that begin with `fat` in folders whose paths end with `mart`.
 */
export function parseQuery(text: string): NameQuery {
  const words = text.split(/\s+/u).flatMap(wordOf);
  const all = new Set(words.flatMap((word) => [...gramsOfWord(word)]));
  return { words, grams: spread([...all], maxQueryGrams) };
}

function wordOf(text: string): Word[] {
  const parts = text
    .split("/")
    .map(fold)
    .filter((part) => part !== "");
  const name = parts.pop();
  if (name === undefined) return [];
  return [{ name, folder: parts.join("/"), isBeginning: parts.length > 0 || name.length < gramLength }];
}

function gramsOfWord({ name, isBeginning }: Word): Set<string> {
  return windows((isBeginning ? before + name : name).slice(0, maxIndexedLetters));
}

/** Some of them, from the first to the last: neighbours say almost the same. */
function spread(grams: readonly string[], count: number): string[] {
  const step = Math.max(1, grams.length / count);
  return Array.from({ length: Math.min(grams.length, count) }, (_, i) => grams[Math.floor(i * step)] ?? "");
}

/** Whether the name at the end of a path has every word. */
export function isMatch({ words }: NameQuery, path: string): boolean {
  const end = path.lastIndexOf("/");
  const name = fold(path.slice(end + 1));
  return words.every((word) => {
    if (!(word.isBeginning ? name.startsWith(word.name) : name.includes(word.name))) return false;
    return word.folder === "" || (end > 0 && foldedPath(path.slice(0, end)).endsWith(word.folder));
  });
}

function foldedPath(path: string): string {
  return path.split("/").map(fold).join("/");
}
