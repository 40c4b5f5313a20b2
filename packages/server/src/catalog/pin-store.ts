/** Pins: which upload needs which packs. The functions run in the transaction of their caller. */

import type { PackState } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { bigints } from "./sql-arrays.ts";
import { atCommit, rowsOf, type VaultTx } from "./vault-store.ts";

interface NeededFrame {
  readonly frame: number;
  readonly pack: string;
  readonly record: number;
  readonly damaged: boolean;
  /** Null if the catalog does not have the pack. */
  readonly state: PackState | null;
}

/** Frames with the records of their block lists, as the catalog has them. */
export class NeededFrames {
  readonly #frames: ReadonlyMap<number, NeededFrame>;

  constructor(rows: readonly NeededFrame[]) {
    this.#frames = new Map(rows.map((row) => [row.frame, row]));
  }

  /**
   * The packs of frames and of the records of their block lists, as far as the catalog has them. `isKnown`: it has them all,
   * and none is damaged or being deleted.
   */
  packsOf(frames: Iterable<number>): { readonly packs: ReadonlySet<string>; readonly isKnown: boolean } {
    const packs = new Set<string>();
    let isKnown = true;
    for (const frame of frames) {
      for (let at = frame; at !== 0; ) {
        const row = this.#frames.get(at);
        if (row === undefined || row.damaged || row.state === null || row.state === "deleting") isKnown = false;
        if (row === undefined) break;
        packs.add(row.pack);
        at = row.record;
      }
    }
    return { packs, isKnown };
  }

  /** Those of the packs that are condemned. */
  condemned(packs: ReadonlySet<string>): string[] {
    const condemned = new Set<string>();
    for (const { pack, state } of this.#frames.values())
      if (state === "condemned" && packs.has(pack)) condemned.add(pack);
    return [...condemned];
  }
}

/** Reads frames and, from record to record, what they need. */
export async function readNeededFrames(to: VaultTx, frames: Iterable<number>): Promise<NeededFrames> {
  const first = [...new Set(frames)].filter((frame) => frame !== 0);
  if (first.length === 0) return new NeededFrames([]);
  const rows = await rowsOf(
    to,
    sql<NeededFrame>`
      with recursive needed (frame) as (
        select frame from unnest(${bigints(first)}::bigint[]) as first (frame)
        union
        select f.record from needed
          cross join lateral (
            select record from catalog_frames where vault = ${to.vault} and frame = needed.frame limit 1
          ) as f
        where f.record <> 0
      )
      select f.frame, f.pack, f.record, f.damaged,
        (select p.state from catalog_packs p where p.vault = ${to.vault} and p.pack = f.pack) as state
      from needed
        cross join lateral (
          select frame, pack, record, damaged from catalog_frames
          where vault = ${to.vault} and frame = needed.frame limit 1
        ) as f`,
  );
  return new NeededFrames(rows);
}

/** Pins packs for an upload, with the commit. Condemned ones become live. */
export function pinPacks(to: VaultTx, session: number, packs: ReadonlySet<string>, needed: NeededFrames): void {
  if (packs.size === 0) return;
  revive(to, needed.condemned(packs));
  insertPins(
    to,
    [...packs].map((pack) => [session, pack] as const),
  );
}

/** Makes condemned packs live. */
export function revive(to: VaultTx, condemned: readonly string[]): void {
  if (condemned.length === 0) return;
  const ofPacks = sql`vault = ${to.vault} and pack = any(${condemned}::text[]) and state = 'condemned'`;
  atCommit(to, sql`select 1 from catalog_packs where ${ofPacks} order by pack for update`);
  atCommit(to, sql`update catalog_packs set state = 'live' where ${ofPacks}`);
}

export function insertPins(to: VaultTx, pins: readonly (readonly [session: number, pack: string])[]): void {
  if (pins.length === 0) return;
  const sessions = bigints(pins.map(([session]) => session));
  const packs = pins.map(([, pack]) => pack);
  atCommit(
    to,
    sql`insert into catalog_pins (vault, session, pack)
      select ${to.vault}::integer, x.session, x.pack from unnest(${sessions}::bigint[], ${packs}::text[]) as x (session, pack)
      on conflict do nothing`,
  );
}

/** The sessions that pin each of these packs. */
export async function readPins(
  to: VaultTx,
  packs: Iterable<string>,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const rows = await rowsOf(
    to,
    sql<{ pack: string; session: number }>`
      select pack, session from catalog_pins where vault = ${to.vault} and pack = any(${[...new Set(packs)]}::text[])`,
  );
  const sessions = new Map<string, Set<number>>();
  for (const { pack, session } of rows) sessions.set(pack, (sessions.get(pack) ?? new Set()).add(session));
  return sessions;
}
