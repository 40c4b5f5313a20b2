/**
 * JSON bodies, read so that nothing is silently dropped or replaced: invalid UTF-8, a repeated key (JSON.parse would
 * keep the last one without a word) and nesting deeper than any of our shapes are refused.
 */

import { Problem } from "../problems.ts";

/** Our deepest shape has 6 levels; recursion over what clients send (validation, hashing) must stay shallow. */
export const maxJsonDepth = 32;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function parseStrictJson(bytes: Uint8Array): unknown {
  try {
    const text = decoder.decode(bytes);
    const value: unknown = JSON.parse(text);
    assertNoRepeatedKeys(text);
    return value;
  } catch (error) {
    throw error instanceof Problem ? error : new Problem("malformed_json");
  }
}

/** Walks text that JSON.parse has accepted, so only strings and brackets matter. */
function assertNoRepeatedKeys(text: string): void {
  /** One entry per open bracket: the keys seen so far in an object, null in an array. */
  const open: (Set<string> | null)[] = [];
  let expectKey = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = stringEnd(text, at);
      if (expectKey) {
        const keys = open.at(-1);
        const written = text.slice(at + 1, end);
        const key = written.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written;
        if (keys?.has(key)) throw new Problem("malformed_json");
        keys?.add(key);
        expectKey = false;
      }
      at = end;
    } else if (char === "{" || char === "[") {
      open.push(char === "{" ? new Set() : null);
      if (open.length > maxJsonDepth) throw new Problem("malformed_json");
      expectKey = char === "{";
    } else if (char === "}" || char === "]") {
      open.pop();
      expectKey = false;
    } else if (char === ",") {
      expectKey = open.at(-1) !== null;
    }
  }
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
