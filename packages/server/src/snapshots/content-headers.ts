/** Headers of downloads. Content of customers is never shown by a browser under our origin. */

import { isUtf8 } from "node:buffer";

/** Quotes and backslashes are what programs read differently; other bytes do not belong in a header. */
const plainCharacters = /[^ !#-[\]-~]/g;

/** What `encodeURIComponent` leaves and RFC 8187 does not allow. */
const unreserved = /['()*]/g;

export function downloadHeaders(name: Buffer): Readonly<Record<string, string>> {
  return {
    "Content-Disposition": disposition(name),
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
  };
}

/** RFC 6266: an ASCII name that every program reads, and the name in UTF-8 where it differs. */
function disposition(name: Buffer): string {
  const text = isUtf8(name) ? name.toString() : name.toString("latin1");
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
