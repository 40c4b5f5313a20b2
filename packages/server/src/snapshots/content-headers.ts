/** Headers of downloads. Content of customers is never shown by a browser under our origin. */

import { isUtf8 } from "node:buffer";

/** Quotes and backslashes are what programs read differently; other bytes do not belong in a header. */
const plainCharacters = /[^ !#-[\]-~]/g;

/** What `encodeURIComponent` leaves and RFC 8187 does not allow. */
const unreserved = /['()*]/g;

/** What file systems take. A longer name would make a header that many clients and proxies refuse. */
const maxNameBytes = 255;

/** An ending of a longer name that is kept, so that the file opens in its program. */
const ending = /\.[^.]{1,20}$/u;

export function downloadHeaders(name: Buffer): Readonly<Record<string, string>> {
  return {
    "Content-Disposition": disposition(name),
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
  };
}

/** RFC 6266: an ASCII name that every program reads, and the name in UTF-8 where it differs. */
function disposition(name: Buffer): string {
  const text = shortened(isUtf8(name) ? name.toString() : name.toString("latin1"));
  const plain = text
    .normalize("NFD")
    .replaceAll(/\p{Mn}/gu, "")
    .replaceAll(plainCharacters, "_");
  const quoted = `attachment; filename="${plain}"`;
  if (plain === text) return quoted;
  const encoded = encodeURIComponent(text).replaceAll(
    unreserved,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${quoted}; filename*=UTF-8''${encoded}`;
}

/** The beginning and the ending of a name that is too long. */
function shortened(text: string): string {
  if (Buffer.byteLength(text) <= maxNameBytes) return text;
  const [end = ""] = ending.exec(text) ?? [];
  let [left, beginning] = [maxNameBytes - Buffer.byteLength(end), ""];
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    beginning += character;
  }
  return beginning + end;
}
