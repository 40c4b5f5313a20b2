/** Names from a file system as text for a terminal: control characters must not move its cursor or end a line. */

/** Control characters, also those that turn the direction of text round. */
const control = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Bytes that are not UTF-8 show as U+FFFD. */
export function safeText(name: string | Uint8Array): string {
  const text = typeof name === "string" ? name : Buffer.from(name).toString("utf8");
  return text.replace(control, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** A name for JSON: its text, and its bytes where they are not UTF-8. */
export function pathData(bytes: Uint8Array): { readonly path: string; readonly path_base64?: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  return Buffer.from(text, "utf8").equals(buffer)
    ? { path: text }
    : { path: text, path_base64: buffer.toString("base64") };
}
