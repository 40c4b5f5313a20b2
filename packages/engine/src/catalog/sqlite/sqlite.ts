/**
 * The catalog in one SQLite file, for the command and local repositories. `catalog.ts` has the rules. Each method is one
 * transaction. Methods that only read are transactions too: another process may commit between two statements.
 *
 * A step is on disk when its method returns, because session numbers, deleted packs and holds must survive a power cut.
 * Only pins and leases may be lost: the commit of an upload that has lost its pins is refused.
 */

import type { SQLInputValue } from "node:sqlite";
import type { EngineContext } from "../../context.ts";
import type { ChainHead } from "../../format/chain.ts";
import type {
  Catalog,
  FrameMove,
  FramePlace,
  FrameRow,
  FrameVersion,
  Item,
  MarkingResult,
  NewUpload,
  PackRow,
  RebuiltCatalog,
  Retention,
  ScannedFrame,
  SessionNumbers,
  SessionRow,
  SnapshotInfo,
  SnapshotQuery,
  SnapshotRow,
  UploadScope,
  UploadStart,
  UploadState,
  UploadUnit,
} from "../catalog.ts";
import { CatalogError } from "../catalog.ts";
import { assertDeletable, assertSameRebuild, drawNumber, isNewerChange } from "../rules.ts";
import * as chain from "./chain.ts";
import type { BeforeStatement } from "./connection.ts";
import { Connection } from "./connection.ts";
import {
  addDamagedItems,
  clearDamaged,
  damagedFrames,
  damagedItems,
  forgetDamagedFrame,
  markDamaged,
} from "./damage.ts";
import { isCondemned, pinFrames, pinMoved, pinReplaced, uploadsPinning } from "./pins.ts";
import type { Row, Sql } from "./rows.ts";
import {
  blob,
  findFrame,
  findHook,
  findItem,
  findOwnHook,
  findPlace,
  findSnapshot,
  integer,
  itemOf,
  packOf,
  putFrame,
  putSnapshot,
  putUnit,
  scannedFrameOf,
  schema,
  schemaVersion,
  sessionNumbers,
  tables,
  text,
} from "./rows.ts";
import { bitmapPages, snapshotPage } from "./snapshots.ts";
import type { TakeNumbers } from "./uploads.ts";
import {
  addHeld,
  addUnitNumber,
  assertClosed,
  assertUnitIsNew,
  assertUnitIsPinned,
  beginUpload,
  endUpload,
  pinItems,
  pinOrdinals,
  reserveOrdinals,
  runningRow,
  uploadRow,
  uploadState,
} from "./uploads.ts";

/** Rows per page of a full scan: some hundred kilobytes. */
const rowsPerPage = 500;

/** Opens the catalog in a file, and makes it if there is none; ":memory:" keeps it in memory. */
export function openSqliteCatalog(path: string, ctx: EngineContext): SqliteCatalog {
  return new SqliteCatalog(path, ctx);
}

export class SqliteCatalog implements Catalog {
  readonly #db: Connection;
  readonly #sql: Sql;
  readonly #ctx: EngineContext;

  constructor(path: string, ctx: EngineContext, before?: BeforeStatement) {
    this.#ctx = ctx;
    this.#db = new Connection(path, before);
    this.#sql = this.#db.sql;
    const version = integer(this.#sql("pragma user_version").get() ?? {}, "user_version");
    if (version === 0) {
      this.#db.write(() => {
        this.#db.exec(`${schema}; pragma user_version = ${schemaVersion}`);
        this.#newCatalogId(ctx);
      });
    }
    if (version !== 0 && version !== schemaVersion)
      throw new CatalogError("conflict", `catalog version ${version}; rebuild it`);
  }

  async beginUpload(begun: NewUpload): Promise<UploadStart> {
    return this.#db.write(() => {
      if (this.#number("stale") !== 0) throw new CatalogError("stale", "another catalog has used its numbers");
      const start = beginUpload(this.#sql, begun, this.#take, {
        reach: () => (begun.base === null ? Buffer.alloc(0) : this.#snapshot(begun.base).reach),
        nonce: () => drawNumber(this.#ctx),
      });
      return { ...start, catalogId: this.#number("catalog_id"), damaged: damagedItems(this.#sql) };
    });
  }

  async uploadState(upload: string): Promise<UploadState | null> {
    return this.#db.read(() => uploadState(this.#sql, upload));
  }

  async settleClaim(session: number, ours: boolean): Promise<void> {
    this.#db.write(() => {
      this.#sql("update claims set open = 0 where session = ?").run(session);
      if (!ours) this.#sql("update numbers set value = 1 where name = 'stale'").run();
    });
  }

  async renewUpload(upload: string, now: number, leaseUntil: number): Promise<void> {
    this.#db.writeWithoutSync(() => {
      runningRow(this.#sql, upload, now);
      this.#sql("update uploads set lease = ? where upload = ?").run(leaseUntil, upload);
    });
  }

  async endUpload(upload: string): Promise<void> {
    this.#db.write(() => endUpload(this.#sql, upload));
  }

  async expireUploads(now: number): Promise<readonly string[]> {
    return this.#db.write(() => {
      const ended = this.#sql("select upload from uploads where lease <= ?")
        .all(now)
        .map((row) => text(row, "upload"));
      for (const upload of ended) endUpload(this.#sql, upload);
      return ended;
    });
  }

  async reserveOrdinals(count: number, by?: { upload: string; request: number }): Promise<number> {
    return this.#db.write(() =>
      by === undefined ? this.#take("ordinal", count) : reserveOrdinals(this.#sql, count, by, this.#take).first,
    );
  }

  async acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]> {
    // Most new ids are unknown. Then there is nothing to pin and no transaction to write.
    uploadRow(this.#sql, upload);
    const isKnown = this.#sql("select 1 from items where id = ? limit 1");
    if (ids.every((id) => isKnown.get(id) === undefined)) return ids.map(() => null);
    return this.#db.writeWithoutSync(() => pinItems(this.#sql, upload, ids));
  }

  async acquireOrdinals(upload: string, ordinals: readonly number[]): Promise<readonly boolean[]> {
    return this.#db.writeWithoutSync(() => pinOrdinals(this.#sql, upload, ordinals));
  }

  async acquireFrames(
    upload: string,
    frames: readonly number[],
    generations?: readonly number[],
  ): Promise<readonly boolean[]> {
    const expected = this.#sql("select 1 from frames where frame = ? and generation = ?");
    const isExpected = (frame: number, i: number) =>
      generations === undefined || expected.get(frame, generations[i] ?? -1) !== undefined;
    return this.#db.writeWithoutSync(() => {
      uploadRow(this.#sql, upload);
      return frames.map((frame, i) => isExpected(frame, i) && pinFrames(this.#sql, upload, [frame]));
    });
  }

  async addUnit(upload: string, now: number, unit: UploadUnit, number?: number): Promise<void> {
    this.#db.write(() => {
      runningRow(this.#sql, upload, now);
      if (number !== undefined && !addUnitNumber(this.#sql, upload, number)) return;
      if (number !== undefined) assertUnitIsNew(this.#sql, unit);
      this.#register(unit);
      for (const { pack } of unit.packs) this.#sql("insert or ignore into pins values (?, ?)").run(pack, upload);
      addHeld(
        this.#sql,
        upload,
        unit.items.map(({ ordinal }) => ordinal),
      );
      if (number !== undefined) assertUnitIsPinned(this.#sql, upload, unit);
    });
  }

  async commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void> {
    this.#db.write(() => {
      const row = runningRow(this.#sql, upload, now);
      const existing = this.#sql("select 1 from snapshots where id = ?").get(snapshot.id);
      if (existing !== undefined) throw new CatalogError("conflict", `snapshot ${snapshot.id} exists`);
      assertClosed(this.#sql, upload, row, snapshot);
      putSnapshot(this.#sql, snapshot);
      endUpload(this.#sql, upload);
      this.#take("revision", 1);
    });
  }

  async findHooks(
    owner: string,
    hooks: readonly bigint[],
    scope: UploadScope = "vault",
  ): Promise<readonly (number | null)[]> {
    const [any, own] = [this.#sql(findHook), this.#sql(findOwnHook)];
    const one = (hook: bigint) => {
      const row = scope === "lineage" ? own.get(hook, owner) : any.get(hook, owner, owner);
      return row === undefined ? null : integer(row, "ordinal");
    };
    return this.#db.read(() => hooks.map(one));
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    return this.#db.read(() => ordinals.map((ordinal) => findItem(this.#sql, ordinal)));
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return this.#db.read(() => frames.map((frame) => findFrame(this.#sql, frame)));
  }

  async framePlaces(frames: readonly number[]): Promise<readonly (FramePlace | null)[]> {
    return this.#db.read(() => frames.map((frame) => findPlace(this.#sql, frame)));
  }

  async session(session: number): Promise<SessionRow | null> {
    const row = this.#sql("select header from sessions where session = ?").get(session);
    return row === undefined ? null : { session, header: blob(row, "header") };
  }

  async snapshot(id: string): Promise<SnapshotRow | null> {
    return findSnapshot(this.#sql, id);
  }

  async snapshotPage(query: SnapshotQuery = {}): Promise<readonly SnapshotInfo[]> {
    return snapshotPage(this.#sql, query);
  }

  async changeRetention(id: string, retention: Retention, sequence: number): Promise<void> {
    this.#db.write(() => {
      if (isNewerChange(this.#snapshot(id), sequence)) chain.putRetention(this.#sql, id, retention, sequence);
    });
  }

  async chainHead(): Promise<ChainHead> {
    return chain.readChainHead(this.#sql);
  }

  async advanceChain(head: ChainHead, epoch?: number): Promise<void> {
    this.#db.write(() => chain.advanceChainHead(this.#sql, head, epoch));
  }

  async newestEpoch(): Promise<number> {
    return chain.readEpoch(this.#sql);
  }

  async revokeWriter(writerId: string, fromSession: number): Promise<void> {
    this.#db.write(() => chain.putRevocation(this.#sql, writerId, fromSession));
  }

  async revokedFrom(writerId: string): Promise<number | null> {
    return chain.readRevocation(this.#sql, writerId);
  }

  async beginDeleteSnapshot(id: string, now: number): Promise<void> {
    this.#db.write(() => {
      assertDeletable(this.#snapshot(id), now);
      this.#sql("update snapshots set status = 'deleting' where id = ?").run(id);
    });
  }

  async cancelDeleteSnapshot(id: string, retention: Retention, sequence: number): Promise<boolean> {
    return this.#db.write(() => chain.cancelDeletion(this.#sql, id, retention, sequence));
  }

  async deleteSnapshot(id: string, now: number): Promise<void> {
    this.#db.write(() => {
      assertDeletable(this.#snapshot(id), now);
      for (const table of ["snapshots", "reach"]) this.#sql(`delete from ${table} where id = ?`).run(id);
      this.#take("revision", 1);
    });
  }

  async revision(): Promise<number> {
    return this.#number("revision");
  }

  async *allReach(): AsyncIterable<Uint8Array> {
    yield* bitmapPages(this.#sql);
  }

  async *allItems(): AsyncIterable<Item> {
    for (const row of this.#scan("items", "ordinal", 0)) yield itemOf(row);
  }

  async *allFrames(): AsyncIterable<ScannedFrame> {
    for (const row of this.#scan("frames", "frame", 0)) yield scannedFrameOf(row);
  }

  async *allPacks(): AsyncIterable<PackRow> {
    for (const row of this.#scan("packs", "pack", "")) yield packOf(row);
  }

  async packs(packs: readonly string[]): Promise<readonly (PackRow | null)[]> {
    const find = this.#sql("select * from packs where pack = ?");
    const one = (pack: string) => {
      const row = find.get(pack);
      return row === undefined ? null : packOf(row);
    };
    return this.#db.read(() => packs.map(one));
  }

  async sessions(): Promise<SessionNumbers> {
    return this.#db.read(() => sessionNumbers(this.#sql, (name) => this.#number(name)));
  }

  async issuedNonce(session: number): Promise<number | null> {
    const row = this.#sql("select nonce from claims where session = ?").get(session);
    return row === undefined ? null : integer(row, "nonce");
  }

  async condemn(packs: readonly string[], marking: number): Promise<MarkingResult> {
    return this.#db.write(() => {
      if (this.#number("revision") !== marking) return { condemned: [], revisionChanged: true };
      const change = this.#sql(
        "update packs set state = 'condemned', marking = ? where pack = ? and state in ('live', 'condemned') and not exists (select 1 from pins where pins.pack = packs.pack)",
      );
      return { condemned: packs.filter((pack) => change.run(marking, pack).changes === 1), revisionChanged: false };
    });
  }

  async beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean> {
    return this.#db.write(() => {
      if (!isCondemned(this.#sql, pack, marking)) return false;
      this.#toDeleting(pack);
      this.#forgetItems(deadItems);
      return true;
    });
  }

  async forgetPack(pack: string): Promise<void> {
    this.#db.write(() => this.#sql("delete from packs where pack = ? and state = 'deleting'").run(pack));
  }

  async moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean> {
    return this.#db.write(() => {
      runningRow(this.#sql, upload, now);
      const left = new Set<string>();
      for (const { from, to } of moves) {
        const row = findPlace(this.#sql, to.frame);
        if (row?.pack !== from.pack || row.generation !== from.generation) return false;
        if (from.marking === null) continue;
        if (!isCondemned(this.#sql, from.pack, from.marking)) return false;
        left.add(from.pack);
      }
      this.#register(unit);
      for (const move of moves) {
        putFrame(this.#sql, move.to);
        forgetDamagedFrame(this.#sql, move.to.frame);
        pinMoved(this.#sql, move);
      }
      this.#forgetItems(deadItems);
      this.#take("revision", 1);
      for (const pack of left) this.#toDeleting(pack);
      return true;
    });
  }

  async setDamaged(versions: readonly FrameVersion[], damaged: boolean): Promise<void> {
    this.#db.write(() => {
      if (damaged) markDamaged(this.#sql, versions);
      else clearDamaged(this.#sql, versions);
      this.#take("revision", 1);
    });
  }

  async damagedFrames(after = 0): Promise<readonly number[]> {
    return damagedFrames(this.#sql, after);
  }

  async setVerified(ordinals: readonly number[]): Promise<void> {
    this.#db.write(() => {
      for (const ordinal of ordinals) this.#sql("update items set verified = 1 where ordinal = ?").run(ordinal);
    });
  }

  async clear(ctx: EngineContext): Promise<number> {
    return this.#db.write(() => {
      for (const table of tables) this.#sql(`delete from ${table}`).run();
      this.#take("revision", 1);
      this.#sql("update numbers set value = 0 where name = 'stale'").run();
      this.#newCatalogId(ctx);
      return this.#number("catalog_id");
    });
  }

  async addRebuilt(found: RebuiltCatalog): Promise<void> {
    const { unit, snapshots, nextOrdinal, nextSession, chainHead, epoch, revoked } = found;
    this.#db.write(() => {
      assertSameRebuild(found, this.#number("catalog_id"));
      if (unit !== undefined) this.#register(unit);
      if (chainHead !== undefined) chain.advanceChainHead(this.#sql, chainHead, epoch);
      for (const [writer, session] of revoked ?? []) chain.putRevocation(this.#sql, writer, session);
      for (const snapshot of snapshots ?? []) putSnapshot(this.#sql, snapshot);
      this.#take("revision", 1);
      const raise = this.#sql("update numbers set value = max(value, ?) where name = ?");
      if (nextOrdinal !== undefined) raise.run(nextOrdinal, "ordinal");
      if (nextSession !== undefined) raise.run(nextSession, "session");
    });
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #register(unit: UploadUnit): void {
    const replaced = unit.items.flatMap((item) => {
      const old = findItem(this.#sql, item.ordinal);
      return old === null ? [] : [{ item, uploads: uploadsPinning(this.#sql, old) }];
    });
    // A replaced recipe makes every running marking wrong.
    if (replaced.length > 0) this.#take("revision", 1);
    putUnit(this.#sql, unit);
    addDamagedItems(this.#sql, unit.items);
    for (const { item, uploads } of replaced) pinReplaced(this.#sql, item, uploads);
  }

  #snapshot(id: string): SnapshotRow {
    const row = findSnapshot(this.#sql, id);
    if (row === null) throw new CatalogError("unknown_snapshot", id);
    return row;
  }

  /** All rows of a table in the order of its key, page by page. */
  *#scan(table: string, key: string, first: number | string): Generator<Row> {
    const page = this.#sql(`select * from ${table} where ${key} > ? order by ${key} limit ${rowsPerPage}`);
    for (let after: SQLInputValue = first; ; ) {
      const rows = page.all(after);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsPerPage) return;
      after = last[key] ?? null;
    }
  }

  #forgetItems(ordinals: readonly number[]): void {
    for (const table of ["items", "damaged_items"])
      for (const ordinal of ordinals) this.#sql(`delete from ${table} where ordinal = ?`).run(ordinal);
  }

  /** Makes a pack `deleting`, and removes the frames that are still in it. */
  #toDeleting(pack: string): void {
    this.#sql("update packs set state = 'deleting' where pack = ?").run(pack);
    for (const table of ["block_lists", "damaged_items"])
      this.#sql(`delete from ${table} where frame in (select frame from frames where pack = ?)`).run(pack);
    this.#sql("delete from frames where pack = ?").run(pack);
  }

  #newCatalogId(ctx: EngineContext): void {
    this.#sql("insert or replace into numbers values ('catalog_id', ?)").run(drawNumber(ctx));
  }

  #number(name: string): number {
    return integer(this.#sql("select value from numbers where name = ?").get(name) ?? {}, "value");
  }

  readonly #take: TakeNumbers = (name, count) => {
    const value = this.#number(name);
    if (count > 0) this.#sql("update numbers set value = value + ? where name = ?").run(count, name);
    return value;
  };
}
