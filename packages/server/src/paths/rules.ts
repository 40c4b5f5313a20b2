/**
 * Where versions begin and end. The snapshots of a source are in the order of their ids, which is the order of time. A version is what was
 * at a path `since` a snapshot and before the snapshot `until`; neighbours in time differ.
 *
 * Snapshots come in any order: of two uploads at once the later one can be completed first, and a deleted one can be undeleted. So a
 * snapshot is put between its neighbours, whichever are there.
 */

/** What is known of an entry. */
export interface Facts {
  readonly type: "f" | "d" | "l";
  readonly size: number | null;
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
  readonly mode: number;
  readonly hash: Buffer | null;
}

export interface Version extends Facts {
  readonly since: string;
  /** Null: there is no later one. */
  readonly until: string | null;
}

/** A snapshot that is put in, and the one after it. */
export interface Place {
  readonly snapshot: string;
  readonly next: string | null;
}

/** What changes at a path. */
export interface VersionChanges {
  /** The version that begins there ends with the new snapshot. */
  readonly cut: string | null;
  readonly added: readonly Version[];
  /** The version that begins with the next snapshot begins with the new one. */
  readonly beginsEarlier: boolean;
}

const nothing: VersionChanges = { cut: null, added: [], beginsEarlier: false };

/**
 * Puts a snapshot in, at one path. `before` is the version in the snapshot before it, `after` the one that begins with the snapshot
 * after it, `facts` what the new snapshot has there; null: nothing.
 */
export function placeVersion(
  { snapshot, next }: Place,
  { before, after, facts }: { before: Version | null; after: Version | null; facts: Facts | null },
): VersionChanges {
  if (before !== null && facts !== null && isEqual(before, facts)) return nothing;
  const added: Version[] = [];
  const goesOn = before !== null && next !== null && (before.until === null || before.until > next);
  if (goesOn) added.push({ ...before, since: next });
  const beginsEarlier = facts !== null && after !== null && isEqual(after, facts);
  if (facts !== null && !beginsEarlier) added.push({ ...facts, since: snapshot, until: next });
  // Where a file took the place of a folder, the removal can have been applied before: the version has ended already.
  return { cut: before?.since ?? null, added, beginsEarlier };
}

export function isEqual(a: Facts, b: Facts): boolean {
  return (
    a.type === b.type &&
    a.size === b.size &&
    a.mtimeSeconds === b.mtimeSeconds &&
    a.mtimeNanos === b.mtimeNanos &&
    a.mode === b.mode &&
    (a.hash === null || b.hash === null ? a.hash === b.hash : a.hash.equals(b.hash))
  );
}

/** Paths whose grams share rows. Two bytes hold an offset; a row stays below a page of PostgreSQL. */
export const pathsPerBlock = 2048;

export function blockOf(path: number): number {
  return Math.floor(path / pathsPerBlock);
}
