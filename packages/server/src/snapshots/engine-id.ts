/** The engine's id of a snapshot: the same 128 bits, without dashes. */
export function engineId(id: string): string {
  return id.replaceAll("-", "");
}

/** The API's id of a snapshot of the engine. */
export function snapshotIdOf(id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
