/** The snapshots of the catalog in memory, and the chain's state: head, newest epoch, revoked writers. */

import type { ChainHead } from "../format/chain.ts";
import { emptyChain } from "../format/chain.ts";
import type { Retention, SnapshotInfo, SnapshotKey, SnapshotQuery, SnapshotRow } from "./catalog.ts";
import { CatalogError, maxSnapshotsPerPage } from "./catalog.ts";
import { assertDeletable, isNewerChange } from "./rules.ts";

export class MemorySnapshots {
  readonly #rows = new Map<string, SnapshotRow>();
  readonly #revoked = new Map<string, number>();
  #head: ChainHead = emptyChain;
  #epoch = 1;

  get head(): ChainHead {
    return this.#head;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Throws `unknown_snapshot` if there is none of that id. */
  get(id: string): SnapshotRow {
    const row = this.#rows.get(id);
    if (row === undefined) throw new CatalogError("unknown_snapshot", id);
    return row;
  }

  has(id: string): boolean {
    return this.#rows.has(id);
  }

  /** By the time of their completion. */
  all(): SnapshotRow[] {
    return [...this.#rows.values()].sort(compareKeys);
  }

  /** A page without the bitmaps. */
  page({ source, after, newestFirst = false, limit = maxSnapshotsPerPage }: SnapshotQuery): SnapshotInfo[] {
    const all = newestFirst ? this.all().reverse() : this.all();
    const isAfter = (row: SnapshotRow) => after === undefined || compareKeys(row, after) * (newestFirst ? -1 : 1) > 0;
    return all
      .filter((row) => (source === undefined || row.source === source) && isAfter(row))
      .slice(0, Math.min(limit, maxSnapshotsPerPage))
      .map(({ reach: _, ...info }) => info);
  }

  put(row: SnapshotRow): void {
    this.#rows.set(row.id, row);
  }

  changeRetention(id: string, retention: Retention, sequence: number): void {
    const row = this.get(id);
    if (isNewerChange(row, sequence)) this.put({ ...row, retention, changes: sequence });
  }

  beginDelete(id: string, now: number): void {
    const row = this.get(id);
    assertDeletable(row, now);
    this.put({ ...row, status: "deleting" });
  }

  /** Returns whether the row was being deleted and the record is newer than what is applied to it. */
  cancelDelete(id: string, retention: Retention, sequence: number): boolean {
    const row = this.#rows.get(id);
    if (row?.status !== "deleting" || sequence <= row.changes) return false;
    this.put({ ...row, status: "completed", retention, changes: sequence });
    return true;
  }

  delete(id: string, now: number): void {
    assertDeletable(this.get(id), now);
    this.#rows.delete(id);
  }

  advanceChain(head: ChainHead, epoch: number): void {
    if (head.sequence > this.#head.sequence) this.#head = head;
    this.#epoch = Math.max(this.#epoch, epoch);
  }

  revokeWriter(writerId: string, fromSession: number): void {
    this.#revoked.set(writerId, Math.min(fromSession, this.#revoked.get(writerId) ?? fromSession));
  }

  revokedFrom(writerId: string): number | null {
    return this.#revoked.get(writerId) ?? null;
  }

  clear(): void {
    this.#rows.clear();
    this.#revoked.clear();
    this.#head = emptyChain;
    this.#epoch = 1;
  }
}

function compareKeys(a: SnapshotKey, b: SnapshotKey): number {
  return a.completedAt - b.completedAt || (a.id < b.id ? -1 : Number(a.id > b.id));
}
