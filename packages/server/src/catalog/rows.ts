/** How rows of the catalog's tables become items, frames, packs and snapshots. */

import type {
  FramePlace,
  FrameRow,
  Item,
  PackRow,
  PackState,
  ScannedFrame,
  SnapshotInfo,
  SnapshotRow,
  SnapshotStatus,
} from "@emanet/engine/catalog";

/** With its owner's name. */
export interface ItemColumns {
  readonly ordinal: number;
  readonly is_node: boolean;
  readonly id: Buffer;
  readonly recipe: Buffer;
  readonly record: number;
  readonly next: number;
  readonly owner: string;
  readonly verified: boolean;
}

/** Of `catalog_items i`. The name is looked up per row: a join could be made the other way round, with all items per owner. */
export const itemColumns = `i.ordinal, i.is_node, i.id, i.recipe, i.record, i.next, i.verified,
  (select o.name from catalog_owners o where o.vault = i.vault and o.owner = i.owner) as owner`;

export function itemOf(row: ItemColumns): Item {
  return {
    ordinal: row.ordinal,
    kind: row.is_node ? "node" : "segment",
    id: row.id,
    recipe: row.recipe,
    recordFrame: row.record,
    next: row.next,
    owner: row.owner,
    verified: row.verified,
  };
}

export interface PlaceColumns {
  readonly frame: number;
  readonly generation: number;
  readonly is_meta: boolean;
  readonly pack: string;
  readonly place: number;
  readonly length: number;
  readonly frame_id: Buffer;
  readonly session: number;
  readonly record: number;
  readonly damaged: boolean;
}

/** Of `catalog_frames f`. */
export const placeColumns =
  "f.frame, f.generation, f.is_meta, f.pack, f.place, f.length, f.frame_id, f.session, f.record, f.damaged";

export function placeOf(row: PlaceColumns): FramePlace {
  return {
    frame: row.frame,
    generation: row.generation,
    kind: row.is_meta ? "meta" : "data",
    pack: row.pack,
    offset: row.place,
    length: row.length,
    frameId: row.frame_id,
    session: row.session,
    recordFrame: row.record,
    damaged: row.damaged,
  };
}

export function frameOf(row: PlaceColumns & { readonly block_list: Buffer }): FrameRow {
  return { ...placeOf(row), blockList: row.block_list };
}

export function scannedFrameOf(row: PlaceColumns & { readonly slots: number }): ScannedFrame {
  return { ...placeOf(row), slotCount: row.slots };
}

export interface PackColumns {
  readonly pack: string;
  readonly session: number;
  readonly size: number;
  readonly state: PackState;
}

export const packColumns = "pack, session, size, state";

export function packOf({ pack, session, size, state }: PackColumns): PackRow {
  return { pack, session, size, state };
}

export interface SnapshotColumns {
  readonly id: string;
  readonly source: string;
  readonly session: number;
  readonly started: number;
  readonly completed: number;
  readonly root_ordinal: number;
  readonly root_id: Buffer;
  readonly size: number;
  readonly files: number;
  readonly warnings: number;
  readonly stored: number;
  readonly status: SnapshotStatus;
  readonly expires: number | null;
  readonly locked: number | null;
  readonly hold: boolean;
  readonly changes: number;
}

/** All but the bitmap. */
export const snapshotColumns =
  "id, source, session, started, completed, root_ordinal, root_id, size, files, warnings, stored, status, expires, locked, hold, changes";

export function snapshotInfoOf(row: SnapshotColumns): SnapshotInfo {
  return {
    id: row.id,
    source: row.source,
    session: row.session,
    startedAt: row.started,
    completedAt: row.completed,
    rootOrdinal: row.root_ordinal,
    rootId: row.root_id,
    size: row.size,
    files: row.files,
    warnings: row.warnings,
    storedBytes: row.stored,
    status: row.status,
    retention: { expiresAt: row.expires, lockedUntil: row.locked, hold: row.hold },
    changes: row.changes,
  };
}

export function snapshotOf(row: SnapshotColumns & { readonly reach: Buffer }): SnapshotRow {
  return { ...snapshotInfoOf(row), reach: row.reach };
}

/** Answers in the order of the questions; null where there is no row. */
export function inOrder<K, R>(keys: readonly K[], rows: readonly R[], keyOf: (row: R) => K): (R | null)[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  return keys.map((key) => byKey.get(key) ?? null);
}
