/** The engine's id of a snapshot: the same 128 bits, without dashes. */
export function engineId(id: string): string {
  return id.replaceAll("-", "");
}

/** The API's id of a snapshot of the engine. */
export function snapshotIdOf(id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const nameOfUpload = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/;

/**
 * The snapshot that an upload of the catalog belongs to. Its name is the snapshot's id, or where a snapshot has several uploads,
 * begins with it and a slash. Null for an upload of upkeep.
 */
export function snapshotOfUpload(upload: string): string | null {
  return nameOfUpload.exec(upload)?.[1] ?? null;
}
