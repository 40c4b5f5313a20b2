/** The engine's id of a snapshot: the same 128 bits, without dashes. */
export function engineId(id: string): string {
  return id.replaceAll("-", "");
}
