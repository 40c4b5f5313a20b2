/** The text of a mail: its paragraphs with an empty line between them. */
export function paragraphs(...parts: readonly string[]): string {
  return `${parts.join("\n\n")}\n`;
}
