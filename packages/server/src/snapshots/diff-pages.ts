/**
 * Pages of the differences between two snapshots. A page goes on behind the last change of the one before; what comes before that is not
 * read again.
 *
 * A cursor has the kind and the path of a change. Paths that are too long for a cursor are counted: it has the last change with a short
 * path, and how many changes came after it.
 */

import { type DiffPlace, diffTrees, type TreeChange } from "@emanet/engine";
import type { SnapshotContent } from "./read-content.ts";

/** A cursor of 512 characters can hold paths of this length. */
const maxCursorPathBytes = 200;

const letters = { added: "a", removed: "r", changed: "c" } as const;
const slash = 0x2f;

export interface DiffRow {
  readonly id: string;
  readonly change: TreeChange;
  /** Where the next page goes on, behind this change. */
  readonly place: string;
}

interface Place {
  /** Null: the beginning. */
  readonly kind: TreeChange["kind"] | null;
  readonly path: Buffer;
  /** Changes after it that have come already. */
  readonly count: number;
}

export async function readDiff(
  before: SnapshotContent | null,
  after: SnapshotContent,
  { place, take }: { readonly place: string | null; readonly take: number },
): Promise<DiffRow[]> {
  let at = parsePlace(place);
  let skipped = 0;
  const from = at.count;
  const rows: DiffRow[] = [];
  const { frames } = after.reader;
  const changes = diffTrees(frames, before?.root.root ?? null, after.root.root, { behind: diffPlace(at) });
  for await (const change of changes) {
    if (skipped++ < from) continue;
    const isShort = change.path.length <= maxCursorPathBytes;
    at = isShort ? { kind: change.kind, path: Buffer.from(change.path), count: 0 } : { ...at, count: at.count + 1 };
    rows.push({ id: after.record.id, change, place: placeText(at) });
    if (rows.length >= take) break;
  }
  return rows;
}

function placeText({ kind, path, count }: Place): string {
  return `${kind === null ? "" : letters[kind]}.${count}.${path.toString("base64url")}`;
}

function parsePlace(text: string | null): Place {
  const [letter = "", count = "0", path = ""] = text?.split(".") ?? [];
  const kind = (["added", "removed", "changed"] as const).find((one) => letters[one] === letter) ?? null;
  return { kind, path: Buffer.from(path, "base64url"), count: Number(count) };
}

function diffPlace({ kind, path }: Place): DiffPlace | undefined {
  return kind === null ? undefined : { kind, names: namesOf(path) };
}

function namesOf(path: Buffer): Buffer[] {
  const names: Buffer[] = [];
  let start = 0;
  for (let end = path.indexOf(slash); end >= 0; end = path.indexOf(slash, start)) {
    names.push(path.subarray(start, end));
    start = end + 1;
  }
  return [...names, path.subarray(start)];
}
