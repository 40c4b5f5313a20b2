/**
 * What a chain says as a whole: which snapshots there must be, under which retention, which were deleted, which writers
 * are revoked. Made by adding records in order; pure.
 */

import { hex } from "./bytes.ts";
import type { ChainHead, ChainRecord, OrdinalRange } from "./chain.ts";
import { emptyChain } from "./chain.ts";
import type { Retention } from "./snapshot.ts";

/** A snapshot as the chain has it. */
export interface ChainSnapshot {
  /** SHA-256 of its manifest object. */
  readonly manifestHash: Uint8Array;
  readonly retention: Retention;
  readonly deleted: boolean;
  /** The newest record that set its retention: its completion or a change. */
  readonly sequence: number;
}

export class ChainState {
  readonly snapshots = new Map<string, ChainSnapshot>();
  /** Per scope (vault, source, taxpayer) the newest policy. */
  readonly policies = new Map<string, Uint8Array>();
  /** Per writer id the first session number that is refused. */
  readonly revoked = new Map<string, number>();
  readonly epochs = new Map<number, Uint8Array>();
  /** Per session that has completed a snapshot the ordinals that it had reserved. */
  readonly reserved = new Map<number, readonly OrdinalRange[]>();
  /** Sequence numbers of records of kinds that this version does not know. */
  readonly unknown: number[] = [];
  incarnation = 0;
  head: ChainHead = emptyChain;

  /** Adds the record that follows the head. */
  add(record: ChainRecord, head: ChainHead): void {
    this.#apply(record);
    this.head = head;
  }

  /** The newest epoch that a record names; 1 if none does. */
  get newestEpoch(): number {
    return Math.max(1, ...this.epochs.keys());
  }

  /** The snapshots that are completed and not deleted. */
  *live(): Generator<readonly [string, ChainSnapshot]> {
    for (const [id, snapshot] of this.snapshots) if (!snapshot.deleted) yield [id, snapshot];
  }

  #apply(record: ChainRecord): void {
    switch (record.kind) {
      case "incarnation":
        this.incarnation = record.incarnation;
        return;
      case "completed": {
        const { manifestHash, retention, sequence, reserved } = record;
        if (reserved !== undefined) this.reserved.set(reserved.session, reserved.ranges);
        // A snapshot id is drawn once. A second completion changes nothing: a deleted snapshot stays deleted.
        if (!this.snapshots.has(record.snapshot))
          this.snapshots.set(record.snapshot, { manifestHash, retention, deleted: false, sequence });
        return;
      }
      case "retention":
        this.#change(record.snapshot, { retention: record.retention, sequence: record.sequence });
        return;
      case "rewritten":
        this.#change(record.snapshot, { manifestHash: record.manifestHash });
        return;
      case "deleted":
        this.#change(record.snapshot, { deleted: true });
        return;
      case "policy":
        this.policies.set(record.scope, record.policy);
        return;
      case "revoked": {
        const writer = hex(record.writerId);
        this.revoked.set(writer, Math.min(record.fromSession, this.revoked.get(writer) ?? record.fromSession));
        return;
      }
      case "epoch":
        this.epochs.set(record.epoch, record.publicKeyHash);
        return;
      case "unknown":
        this.unknown.push(record.sequence);
    }
  }

  #change(id: string, change: Partial<ChainSnapshot>): void {
    const known = this.snapshots.get(id);
    if (known !== undefined) this.snapshots.set(id, { ...known, ...change });
  }
}
