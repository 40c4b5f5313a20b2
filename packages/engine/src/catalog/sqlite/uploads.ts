/**
 * Running uploads in the SQLite catalog: their rows, the ordinals that they reserved, the units that they registered. The
 * functions run in the transaction of their caller.
 */

import { Bitmap } from "../../format/bitmap.ts";
import { decodeOrdinals, encodeOrdinals } from "../../format/ordinal-list.ts";
import type { Item, NewUpload, OrdinalRange, SnapshotRow, UploadScope, UploadState, UploadUnit } from "../catalog.ts";
import { CatalogError } from "../catalog.ts";
import {
  assertHeld,
  assertNewRows,
  assertSameUpload,
  assertSlotsExist,
  framesNeededBy,
  framesOfUnit,
  isKnownTo,
} from "../rules.ts";
import { pinFrames } from "./pins.ts";
import type { Row, Sql } from "./rows.ts";
import { blob, findFrame, findItem, integer, itemOf, text } from "./rows.ts";

/** Takes the next `count` numbers of a counter and returns the first. */
export type TakeNumbers = (name: string, count: number) => number;

/** Adds the row of a new upload, unless the upload is running already. Returns its session number and nonce. */
export function beginUpload(
  sql: Sql,
  begun: NewUpload,
  take: TakeNumbers,
  draw: { reach(): Uint8Array; nonce(): number },
): { readonly session: number; readonly nonce: number; readonly ordinals: OrdinalRange } {
  const { upload, owner, leaseUntil, scope = "vault", ordinals = 0 } = begun;
  const running = findUpload(sql, upload);
  if (running !== undefined) assertSameUpload(upload, text(running, "owner"), begun);
  else {
    const reach = draw.reach();
    const session = take("session", 1);
    sql("insert into claims values (?, ?, 1)").run(session, draw.nonce());
    sql("insert into uploads values (?, ?, ?, ?, ?, ?)").run(upload, owner, leaseUntil, session, reach, scope);
  }
  const session = integer(uploadRow(sql, upload), "session");
  const range = reserveOrdinals(sql, ordinals, { upload, request: 0 }, take);
  return { session, nonce: nonceOf(sql, session), ordinals: range };
}

/** Reserves ordinals for a request of an upload, or returns those that it got before. */
export function reserveOrdinals(
  sql: Sql,
  count: number,
  { upload, request }: { readonly upload: string; readonly request: number },
  take: TakeNumbers,
): OrdinalRange {
  uploadRow(sql, upload);
  const reserved = sql("select first, after from reservations where upload = ? and request = ?").get(upload, request);
  if (reserved !== undefined) return rangeOf(reserved);
  const first = take("ordinal", count);
  // An upload without ordinals needs no row.
  if (count > 0) sql("insert into reservations values (?, ?, ?, ?)").run(upload, request, first, first + count);
  return { first, end: first + count };
}

export function uploadState(sql: Sql, upload: string): UploadState | null {
  const row = findUpload(sql, upload);
  if (row === undefined) return null;
  const session = integer(row, "session");
  const reserved = sql("select first, after from reservations where upload = ? order by first").all(upload);
  return {
    owner: text(row, "owner"),
    scope: scopeOf(row),
    session,
    nonce: nonceOf(sql, session),
    leaseUntil: integer(row, "lease"),
    ordinals: reserved.map(rangeOf),
  };
}

/** The row of an upload. Throws `unknown_upload` if there is none. */
export function uploadRow(sql: Sql, upload: string): Row {
  const row = findUpload(sql, upload);
  if (row === undefined) throw new CatalogError("unknown_upload", upload);
  return row;
}

/** The row of an upload whose lease has not ended. */
export function runningRow(sql: Sql, upload: string, now: number): Row {
  const row = uploadRow(sql, upload);
  if (integer(row, "lease") <= now) throw new CatalogError("lease_expired", upload);
  return row;
}

function scopeOf(row: Row): UploadScope {
  return text(row, "scope") === "lineage" ? "lineage" : "vault";
}

/** The items of these ids, pinned for the upload and held by it; null if an item is not known. */
export function pinItems(sql: Sql, upload: string, ids: readonly Uint8Array[]): (Item | null)[] {
  const running = uploadRow(sql, upload);
  const [owner, scope] = [text(running, "owner"), scopeOf(running)];
  const find = sql("select * from items where id = ? order by verified desc, ordinal desc");
  const items = ids.map((id) => {
    for (const row of find.all(id)) {
      const item = itemOf(row);
      if (isKnownTo(owner, scope, item) && pinFrames(sql, upload, framesNeededBy(item))) return item;
    }
    return null;
  });
  addHeld(
    sql,
    upload,
    items.flatMap((item) => item?.ordinal ?? []),
  );
  return items;
}

/** Pins the items of these ordinals. Returns which of them the upload holds now. */
export function pinOrdinals(sql: Sql, upload: string, ordinals: readonly number[]): boolean[] {
  uploadRow(sql, upload);
  const isHeld = ordinals.map((ordinal) => {
    const item = findItem(sql, ordinal);
    return item !== null && pinFrames(sql, upload, framesNeededBy(item));
  });
  addHeld(
    sql,
    upload,
    ordinals.filter((_, i) => isHeld[i]),
  );
  return isHeld;
}

/** Adds to what the upload holds: one short row per call. */
export function addHeld(sql: Sql, upload: string, ordinals: readonly number[]): void {
  if (ordinals.length > 0) sql("insert into held values (?, ?)").run(upload, encodeOrdinals(ordinals));
}

function heldBy(sql: Sql, upload: string): Bitmap {
  const held = new Bitmap();
  for (const row of sql("select ordinals from held where upload = ?").iterate(upload))
    for (const ordinal of decodeOrdinals(blob(row, "ordinals"))) held.add(ordinal);
  return held;
}

/** Adds the number of a client's unit. Returns false if the unit is registered already. */
export function addUnitNumber(sql: Sql, upload: string, number: number): boolean {
  return sql("insert or ignore into units values (?, ?)").run(upload, number).changes === 1;
}

/** Throws `conflict` if a frame or an item of a client's unit is registered already. */
export function assertUnitIsNew(sql: Sql, unit: UploadUnit): void {
  const frame = sql("select 1 from frames where frame = ?");
  const item = sql("select 1 from items where ordinal = ?");
  assertNewRows(unit, {
    frame: (number) => frame.get(number) !== undefined,
    item: (ordinal) => item.get(ordinal) !== undefined,
  });
}

/**
 * Throws `not_closed` if a client's unit, which is registered by now, needs a frame that the upload has not pinned, or slots
 * that the frame does not have.
 */
export function assertUnitIsPinned(sql: Sql, upload: string, unit: UploadUnit): void {
  const pinned = sql("select 1 from frames join pins on pins.pack = frames.pack and upload = ? where frame = ?");
  for (const frame of framesOfUnit(unit))
    if (pinned.get(upload, frame) === undefined)
      throw new CatalogError("not_closed", `frame ${frame} is neither in the unit nor pinned`);
  assertSlotsExist(unit, (frame) => findFrame(sql, frame));
}

/** Throws `not_closed` if the snapshot reaches an item that is neither in the base nor held (rules 4 and 5). */
export function assertClosed(sql: Sql, upload: string, row: Row, snapshot: SnapshotRow): void {
  const reach = Bitmap.decode(snapshot.reach);
  assertHeld(reach, Bitmap.decode(blob(row, "reach")), heldBy(sql, upload));
  if (scopeOf(row) !== "lineage") return;
  const own = sql("select 1 from items where ordinal = ? and owner = ?");
  for (const ordinal of reach)
    if (own.get(ordinal, text(row, "owner")) === undefined)
      throw new CatalogError("not_closed", `item ${ordinal} is of another owner`);
}

export function endUpload(sql: Sql, upload: string): void {
  for (const table of ["pins", "reservations", "held", "units", "uploads"])
    sql(`delete from ${table} where upload = ?`).run(upload);
}

function findUpload(sql: Sql, upload: string): Row | undefined {
  return sql("select * from uploads where upload = ?").get(upload);
}

function nonceOf(sql: Sql, session: number): number {
  return integer(sql("select nonce from claims where session = ?").get(session) ?? {}, "nonce");
}

function rangeOf(row: Row): OrdinalRange {
  return { first: integer(row, "first"), end: integer(row, "after") };
}
