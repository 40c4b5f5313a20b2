/** The tables of the SQLite catalog, and how a row becomes an item, a frame, a pack or a snapshot. */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type {
  FramePlace,
  FrameRow,
  Item,
  PackRow,
  PackState,
  ScannedFrame,
  SessionNumbers,
  SnapshotInfo,
  SnapshotRow,
  SnapshotStatus,
  UploadUnit,
} from "../catalog.ts";
import { slotCountOf } from "../rules.ts";

export type Row = Record<string, SQLOutputValue>;

/** Raised with every change of the schema. A catalog of another version must be rebuilt from the object store. */
export const schemaVersion = 9;

export const schema = `
create table numbers (name text primary key, value integer not null) without rowid;
create table sessions (session integer primary key, header blob not null);
create table claims (session integer primary key, nonce integer not null, open integer not null);
create table packs (
  pack text primary key, session integer not null, size integer not null, state text not null,
  marking integer not null default 0) without rowid;
create table pins (pack text not null, upload text not null, primary key (pack, upload)) without rowid;
create index pins_by_upload on pins (upload);
create table frames (
  frame integer primary key, generation integer not null, kind text not null, pack text not null,
  offset integer not null, length integer not null, frame_id blob not null, session integer not null,
  record integer not null, damaged integer not null default 0, slots integer not null);
create table block_lists (frame integer primary key, block_list blob not null);
create index frames_by_pack on frames (pack);
create index frames_damaged on frames (frame) where damaged = 1;
create table damaged_items (frame integer not null, ordinal integer not null, primary key (frame, ordinal)) without rowid;
create index damaged_items_by_ordinal on damaged_items (ordinal);
create table items (
  ordinal integer primary key, kind text not null, id blob not null, recipe blob not null, record integer not null,
  next integer not null, owner text not null, verified integer not null);
create index items_by_id on items (id);
create table hooks (
  hook integer not null, owner text not null, ordinal integer not null, primary key (hook, owner)) without rowid;
create table uploads (
  upload text primary key, owner text not null, lease integer not null, session integer not null, reach blob not null,
  scope text not null) without rowid;
create table reservations (
  upload text not null, request integer not null, first integer not null, after integer not null,
  primary key (upload, request)) without rowid;
create table held (upload text not null, ordinals blob not null);
create index held_by_upload on held (upload);
create table units (upload text not null, number integer not null, primary key (upload, number)) without rowid;
create table snapshots (
  id text primary key, source text not null, session integer not null, started integer not null,
  completed integer not null, root_ordinal integer not null, root_id blob not null, size integer not null,
  files integer not null, warnings integer not null, stored integer not null, status text not null, expires integer,
  locked integer, hold integer not null, changes integer not null) without rowid;
create index snapshots_by_time on snapshots (completed, id);
create table reach (id text primary key, reach blob not null) without rowid;
create table chain (
  only integer primary key check (only = 1), sequence integer not null, hash blob not null, epoch integer not null);
create table revoked (writer text primary key, from_session integer not null) without rowid;
insert into numbers values ('revision', 1), ('ordinal', 1), ('session', 1), ('stale', 0);
`;

export const tables = [
  "sessions",
  "claims",
  "packs",
  "pins",
  "frames",
  "block_lists",
  "damaged_items",
  "items",
  "hooks",
  "uploads",
  "reservations",
  "held",
  "units",
  "snapshots",
  "reach",
  "chain",
  "revoked",
] as const;

type Values = readonly SQLInputValue[];

/** A prepared statement. */
export interface Statement {
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
  run(...values: Values): { readonly changes: number | bigint };
  iterate(...values: Values): Iterable<Row>;
}

/** Gives the prepared statement of a text. */
export type Sql = (text: string) => Statement;

/** Prepares each statement once. Calls `before` before each run. */
export function statements(database: DatabaseSync, before?: () => void): Sql {
  const prepared = new Map<string, Statement>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = before === undefined ? database.prepare(sql) : watched(database.prepare(sql), before);
    prepared.set(sql, statement);
    return statement;
  };
}

/** The statement with a call before each run. The four methods are those that the catalog uses. */
function watched(statement: StatementSync, before: () => void): Statement {
  return {
    get: (...args) => {
      before();
      return statement.get(...args);
    },
    all: (...args) => {
      before();
      return statement.all(...args);
    },
    run: (...args) => {
      before();
      return statement.run(...args);
    },
    iterate: (...args) => {
      before();
      return statement.iterate(...args);
    },
  };
}

export function integer(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== "number") throw new TypeError(`column ${name} is not a number`);
  return value;
}

export function text(row: Row, name: string): string {
  const value = row[name];
  if (typeof value !== "string") throw new TypeError(`column ${name} is not text`);
  return value;
}

export function blob(row: Row, name: string): Uint8Array {
  const value = row[name];
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${name} is not a blob`);
  return value;
}

export function itemOf(row: Row): Item {
  return {
    ordinal: integer(row, "ordinal"),
    kind: text(row, "kind") === "node" ? "node" : "segment",
    id: blob(row, "id"),
    recipe: blob(row, "recipe"),
    recordFrame: integer(row, "record"),
    next: integer(row, "next"),
    owner: text(row, "owner"),
    verified: integer(row, "verified") === 1,
  };
}

export function frameOf(row: Row): FrameRow {
  return { ...placeOf(row), blockList: blob(row, "block_list") };
}

export function scannedFrameOf(row: Row): ScannedFrame {
  return { ...placeOf(row), slotCount: integer(row, "slots") };
}

export function placeOf(row: Row): FramePlace {
  return {
    frame: integer(row, "frame"),
    generation: integer(row, "generation"),
    kind: text(row, "kind") === "meta" ? "meta" : "data",
    pack: text(row, "pack"),
    offset: integer(row, "offset"),
    length: integer(row, "length"),
    frameId: blob(row, "frame_id"),
    session: integer(row, "session"),
    recordFrame: integer(row, "record"),
    damaged: integer(row, "damaged") === 1,
  };
}

export function packOf(row: Row): PackRow {
  return {
    pack: text(row, "pack"),
    session: integer(row, "session"),
    size: integer(row, "size"),
    state: stateOf(text(row, "state")),
  };
}

export function stateOf(value: string): PackState {
  if (value === "live" || value === "condemned" || value === "deleting") return value;
  throw new TypeError(`unknown pack state ${value}`);
}

function statusOf(value: string): SnapshotStatus {
  if (value === "completed" || value === "recovered" || value === "deleting") return value;
  throw new TypeError(`unknown snapshot status ${value}`);
}

export function snapshotOf(row: Row): SnapshotRow {
  return { ...snapshotInfoOf(row), reach: blob(row, "reach") };
}

export function snapshotInfoOf(row: Row): SnapshotInfo {
  const expires = row.expires;
  const locked = row.locked;
  return {
    id: text(row, "id"),
    source: text(row, "source"),
    session: integer(row, "session"),
    startedAt: integer(row, "started"),
    completedAt: integer(row, "completed"),
    rootOrdinal: integer(row, "root_ordinal"),
    rootId: blob(row, "root_id"),
    size: integer(row, "size"),
    files: integer(row, "files"),
    warnings: integer(row, "warnings"),
    storedBytes: integer(row, "stored"),
    status: statusOf(text(row, "status")),
    retention: {
      expiresAt: typeof expires === "number" ? expires : null,
      lockedUntil: typeof locked === "number" ? locked : null,
      hold: integer(row, "hold") === 1,
    },
    changes: integer(row, "changes"),
  };
}

/** The newest segment with a hook: the owner's, or else a verified one of another owner. */
export const findHook =
  "select hooks.ordinal from hooks join items on items.ordinal = hooks.ordinal" +
  " where hook = ? and (hooks.owner = ? or verified = 1) order by hooks.owner = ? desc, hooks.ordinal desc limit 1";

/** The newest segment of the owner with a hook. */
export const findOwnHook =
  "select hooks.ordinal from hooks join items on items.ordinal = hooks.ordinal where hook = ? and hooks.owner = ?";

/** Inserts everything of a unit. */
export function putUnit(sql: Sql, unit: UploadUnit): void {
  for (const { pack, session, size, state } of unit.packs) {
    sql("insert into packs (pack, session, size, state) values (?, ?, ?, ?)").run(pack, session, size, state);
    sql("insert or ignore into sessions values (?, ?)").run(session, unit.header);
  }
  for (const frame of unit.frames) putFrame(sql, frame);
  const put = sql("insert or replace into items values (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const item of unit.items) {
    const { ordinal, kind, id, recipe, recordFrame, next, owner, verified } = item;
    put.run(ordinal, kind, id, recipe, recordFrame, next, owner, verified ? 1 : 0);
  }
  const hookPut = sql("insert or replace into hooks select ?, owner, ordinal from items where ordinal = ?");
  for (const [hook, ordinal] of unit.hooks) hookPut.run(hook, ordinal);
  const follow = sql(
    "update items set next = ? where ordinal = ? and (next = 0 or owner = (select owner from items where ordinal = ?))",
  );
  for (const [earlier, later] of unit.follows) follow.run(later, earlier, later);
}

/** Inserts or replaces a frame. Block lists are apart: scans do not read them. */
export function putFrame(sql: Sql, row: FrameRow): void {
  const { frame, generation, kind, pack, offset, length, frameId, session, blockList, recordFrame, damaged } = row;
  const slots = slotCountOf(blockList);
  const values = [frame, generation, kind, pack, offset, length, frameId, session, recordFrame, damaged ? 1 : 0, slots];
  sql("insert or replace into frames values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(...values);
  if (blockList.length > 0) sql("insert or replace into block_lists values (?, ?)").run(frame, blockList);
}

/** Inserts a snapshot, or replaces its row: prune may have recovered it while a rebuild ran. */
export function putSnapshot(sql: Sql, row: SnapshotRow): void {
  const { expiresAt, lockedUntil, hold } = row.retention;
  sql("insert or replace into reach values (?, ?)").run(row.id, row.reach);
  sql("insert or replace into snapshots values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
    row.id,
    row.source,
    row.session,
    row.startedAt,
    row.completedAt,
    row.rootOrdinal,
    row.rootId,
    row.size,
    row.files,
    row.warnings,
    row.storedBytes,
    row.status,
    expiresAt,
    lockedUntil,
    hold ? 1 : 0,
    row.changes,
  );
}

/** The session numbers as the tables have them. */
export function sessionNumbers(sql: Sql, number: (name: string) => number): SessionNumbers {
  const running = sql("select session from uploads").all();
  const open = sql("select session, nonce from claims where open = 1").all();
  return {
    running: running.map((row) => integer(row, "session")),
    next: number("session"),
    open: open.map((row) => ({ session: integer(row, "session"), nonce: integer(row, "nonce") })),
    stale: number("stale") !== 0,
  };
}

export function findItem(sql: Sql, ordinal: number): Item | null {
  const row = sql("select * from items where ordinal = ?").get(ordinal);
  return row === undefined ? null : itemOf(row);
}

export function findFrame(sql: Sql, frame: number): FrameRow | null {
  const row = sql(
    "select frames.*, coalesce(block_list, x'') as block_list from frames left join block_lists using (frame) where frame = ?",
  ).get(frame);
  return row === undefined ? null : frameOf(row);
}

export function findPlace(sql: Sql, frame: number): FramePlace | null {
  const row = sql("select * from frames where frame = ?").get(frame);
  return row === undefined ? null : placeOf(row);
}

/** A snapshot with its bitmap. */
export function findSnapshot(sql: Sql, id: string): SnapshotRow | null {
  const row = sql("select * from snapshots join reach using (id) where id = ?").get(id);
  return row === undefined ? null : snapshotOf(row);
}
