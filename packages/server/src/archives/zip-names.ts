/**
 * Names in zip archives that we write. Java refuses a whole zip for one name that is not UTF-8. Windows cannot have some characters
 * and names; it reads `\` as a separator and `:` as a stream of a file, so that such a name could leave the folder that it is unpacked
 * into. What cannot be in a name is written as `%` and two hexadecimal digits, and `%` itself then too. Tar archives have every name
 * as it is.
 */

import { isUtf8 } from "node:buffer";

/** Control characters, and `" * : < > ? \ |`. */
const forbidden: ReadonlySet<number> = new Set([...Array(32).keys(), 127, ...Buffer.from('"*:<>?\\|')]);

const percent = 0x25;
const dot = 0x2e;
const space = 0x20;

/** Names of devices, also with an extension. */
const devices = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;

/** Whether a name of a directory's entry cannot be written as it is. */
export function needsEscape(name: Uint8Array): boolean {
  const last = name.at(-1);
  return (
    name.some((byte) => forbidden.has(byte)) ||
    last === dot ||
    last === space ||
    !isUtf8(name) ||
    devices.test(Buffer.from(name).toString())
  );
}

/**
 * The name as it is written. Two names that need it never become the same one. One can become a name that another entry has, which
 * needs no escape; the caller asks again with a higher attempt then, which adds `%` at the end. No other escaped name ends so.
 */
export function escapedName(name: Uint8Array, attempt: number): Buffer {
  const isDevice = isUtf8(name) && devices.test(Buffer.from(name).toString());
  const parts: Buffer[] = [];
  for (let at = 0; at < name.length; ) {
    const character = Buffer.from(name.subarray(at, at + characterBytes(name, at)));
    const [first = 0] = character;
    const isEnd = at === name.length - 1 && (first === dot || first === space);
    const isAllowed = isUtf8(character) && !forbidden.has(first) && first !== percent;
    parts.push(isAllowed && !isEnd && !(isDevice && at === 0) ? character : Buffer.from(hex(first)));
    at += character.length;
  }
  return Buffer.concat([...parts, Buffer.alloc(attempt, percent)]);
}

/** The bytes of the character of UTF-8 that begins here; 1 where none does. */
function characterBytes(name: Uint8Array, at: number): number {
  const first = name[at] ?? 0;
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const isWhole = at + length <= name.length && isUtf8(name.subarray(at, at + length));
  return isWhole ? length : 1;
}

function hex(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
