/** Registers units: packs and all that they hold. The functions run in the transaction of their caller. */

import type { FrameRow, Item, UploadUnit } from "@emanet/engine/catalog";
import {
  assertNewRows,
  assertSlotsExist,
  CatalogError,
  framesNeededBy,
  framesOfUnit,
  slotCountOf,
} from "@emanet/engine/catalog";
import { sql } from "kysely";
import { addDamagedItems, forgetDamagedItems } from "./damage-store.ts";
import { ownerNumbers } from "./owner-store.ts";
import { insertPins, readNeededFrames, readPins, revive } from "./pin-store.ts";
import { bigints, byteas } from "./sql-arrays.ts";
import type { RunningUpload } from "./upload-store.ts";
import { raiseRevision, rowsOf, type VaultTx } from "./vault-store.ts";

/** Whether a unit has rows that are there already. Registering it needs the exclusive lock. */
export async function isReplacing({ db, vault }: VaultTx, { items, frames }: UploadUnit): Promise<boolean> {
  const ordinals = bigints(items.map(({ ordinal }) => ordinal));
  const numbers = bigints(frames.map(({ frame }) => frame));
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from catalog_items where vault = ${vault} and ordinal = any(${ordinals}::bigint[]))
      or exists (select from catalog_frames where vault = ${vault} and frame = any(${numbers}::bigint[])) as found`.execute(
    db,
  );
  return rows[0]?.found === true;
}

/**
 * Registers a unit of rows that are all new. Throws `conflict` if one is registered already. The upload's own number is known, and mostly
 * no other owner is in its unit.
 */
export async function registerNew(
  to: VaultTx,
  unit: UploadUnit,
  { owner, owner_name }: Pick<RunningUpload, "owner" | "owner_name">,
): Promise<void> {
  const isOwn = unit.items.every((item) => item.owner === owner_name);
  const [frames, items] = await insertUnit(to, unit, "insert", isOwn ? new Map([[owner_name, owner]]) : null);
  const [newFrames, newItems] = [new Set(frames), new Set(items)];
  assertNewRows(unit, { frame: (frame) => !newFrames.has(frame), item: (ordinal) => !newItems.has(ordinal) });
  const intact = unit.frames.filter(({ damaged }) => !damaged).map(({ frame }) => frame);
  await addDamagedItems(to, unit.items, new Set(intact));
}

/**
 * Registers a unit that may replace recipes and frames, and frames that have moved; under the exclusive lock. Every upload
 * that has pinned the packs of an old recipe pins those of the new one.
 */
export async function registerReplacing(to: VaultTx, unit: UploadUnit, moved: readonly FrameRow[] = []): Promise<void> {
  const replaced = await uploadsOfReplaced(to, unit.items);
  await insertUnit(to, unit, "replace");
  await insertFrames(to, moved, "replace");
  if (replaced.size > 0) {
    forgetDamagedItems(to, [...replaced.keys()]);
    // A replaced recipe makes every running marking wrong.
    raiseRevision(to);
  }
  await addDamagedItems(to, unit.items);
  await pinReplaced(
    to,
    unit.items.flatMap((item) => {
      const sessions = replaced.get(item.ordinal) ?? [];
      return sessions.length === 0 ? [] : [{ item, sessions }];
    }),
  );
}

/** Per item that is there already: the sessions that have pinned all packs that it needs. Those that hold it are among them. */
async function uploadsOfReplaced(to: VaultTx, items: readonly Item[]): Promise<ReadonlyMap<number, readonly number[]>> {
  const ordinals = bigints(items.map(({ ordinal }) => ordinal));
  const [old, uploads] = await Promise.all([
    rowsOf(
      to,
      sql<{ ordinal: number; recipe: Buffer; record: number }>`
        select ordinal, recipe, record from catalog_items
        where vault = ${to.vault} and ordinal = any(${ordinals}::bigint[])`,
    ),
    rowsOf(to, sql<{ session: number }>`select session from catalog_uploads where vault = ${to.vault}`),
  ]);
  if (old.length === 0) return new Map();
  const needs = old.map(({ ordinal, recipe, record }) => {
    return { ordinal, frames: framesNeededBy({ recipe, recordFrame: record }) };
  });
  const needed = await readNeededFrames(
    to,
    needs.flatMap(({ frames }) => frames),
  );
  const packsOf = needs.map(({ ordinal, frames }) => ({ ordinal, packs: [...needed.packsOf(frames).packs] }));
  const pins = await readPins(
    to,
    packsOf.flatMap(({ packs }) => packs),
  );
  const sessionsPinning = (packs: readonly string[]) =>
    uploads.map(({ session }) => session).filter((session) => packs.every((pack) => pins.get(pack)?.has(session)));
  return new Map(packsOf.map(({ ordinal, packs }) => [ordinal, sessionsPinning(packs)]));
}

/** Pins everything that new recipes need, also where a frame is damaged: the uploads hold the items already. */
async function pinReplaced(
  to: VaultTx,
  replaced: readonly { readonly item: Item; readonly sessions: readonly number[] }[],
): Promise<void> {
  if (replaced.length === 0) return;
  const needed = await readNeededFrames(
    to,
    replaced.flatMap(({ item }) => framesNeededBy(item)),
  );
  const pins = replaced.flatMap(({ item, sessions }) => {
    const { packs } = needed.packsOf(framesNeededBy(item));
    return sessions.flatMap((session) => [...packs].map((pack) => [session, pack] as const));
  });
  revive(to, needed.condemned(new Set(pins.map(([, pack]) => pack))));
  insertPins(to, pins);
}

/** Inserts the rows of a unit. With "insert" rows that are there stay. Returns the frames and the ordinals that were written. */
async function insertUnit(
  to: VaultTx,
  unit: UploadUnit,
  mode: "insert" | "replace",
  knownOwners: ReadonlyMap<string, number> | null = null,
): Promise<readonly [frames: readonly number[], ordinals: readonly number[]]> {
  const names = () => unit.items.map(({ owner }) => owner);
  const owners = knownOwners ?? (await ownerNumbers(to, names()));
  const [packs, , frames, ordinals] = await Promise.all([
    insertPacks(to, unit),
    insertSessions(to, unit),
    insertFrames(to, unit.frames, mode),
    insertItems(to, unit.items, owners, mode),
    insertHooks(to, unit.hooks),
    updateNext(to, unit.follows),
  ]);
  const written = new Set(packs);
  for (const { pack } of unit.packs)
    if (!written.has(pack)) throw new CatalogError("conflict", `pack ${pack} is registered already`);
  return [frames, ordinals];
}

async function insertPacks(to: VaultTx, { packs }: UploadUnit): Promise<readonly string[]> {
  if (packs.length === 0) return [];
  const names = packs.map(({ pack }) => pack);
  const sessions = bigints(packs.map(({ session }) => session));
  const sizes = bigints(packs.map(({ size }) => size));
  const states = packs.map(({ state }) => state);
  const rows = await rowsOf(
    to,
    sql<{ pack: string }>`
      insert into catalog_packs (vault, pack, session, size, state, marking)
      select ${to.vault}::integer, pack, session, size, state, 0
      from unnest(${names}::text[], ${sessions}::bigint[], ${sizes}::bigint[], ${states}::text[]) as x (pack, session, size, state)
      order by pack on conflict do nothing returning pack`,
  );
  return rows.map(({ pack }) => pack);
}

async function insertSessions(to: VaultTx, { packs, header }: UploadUnit): Promise<void> {
  if (packs.length === 0) return;
  const sessions = bigints(new Set(packs.map(({ session }) => session)));
  await sql`
    insert into catalog_sessions (vault, session, header)
    select ${to.vault}::integer, session, ${Buffer.from(header)}::bytea from unnest(${sessions}::bigint[]) as x (session)
    order by session on conflict do nothing`.execute(to.db);
}

const replaceFrame = sql.raw(
  `do update set generation = excluded.generation, is_meta = excluded.is_meta, pack = excluded.pack, place = excluded.place,
    length = excluded.length, frame_id = excluded.frame_id, session = excluded.session, record = excluded.record,
    damaged = excluded.damaged, slots = excluded.slots, block_list = excluded.block_list`,
);

/** Returns the frames that were written. */
async function insertFrames(
  to: VaultTx,
  frames: readonly FrameRow[],
  mode: "insert" | "replace",
): Promise<readonly number[]> {
  if (frames.length === 0) return [];
  const { rows } = await sql<{ frame: number }>`
    insert into catalog_frames (vault, frame, generation, is_meta, pack, place, length, frame_id, session, record, damaged, slots, block_list)
    select ${to.vault}::integer, x.* from unnest(
      ${bigints(frames.map(({ frame }) => frame))}::bigint[],
      ${bigints(frames.map(({ generation }) => generation))}::bigint[],
      ${frames.map(({ kind }) => kind === "meta")}::boolean[],
      ${frames.map(({ pack }) => pack)}::text[],
      ${bigints(frames.map(({ offset }) => offset))}::bigint[],
      ${bigints(frames.map(({ length }) => length))}::bigint[],
      ${byteas(frames.map(({ frameId }) => frameId))}::bytea[],
      ${bigints(frames.map(({ session }) => session))}::bigint[],
      ${bigints(frames.map(({ recordFrame }) => recordFrame))}::bigint[],
      ${frames.map(({ damaged }) => damaged)}::boolean[],
      ${bigints(frames.map(({ blockList }) => slotCountOf(blockList)))}::bigint[],
      ${byteas(frames.map(({ blockList }) => blockList))}::bytea[]
    ) as x (frame, generation, is_meta, pack, place, length, frame_id, session, record, damaged, slots, block_list)
    order by x.frame on conflict (vault, frame) ${mode === "insert" ? sql.raw("do nothing") : replaceFrame}
    returning frame`.execute(to.db);
  return rows.map(({ frame }) => frame);
}

const replaceItem = sql.raw(
  `do update set is_node = excluded.is_node, id = excluded.id, recipe = excluded.recipe, record = excluded.record,
    next = excluded.next, owner = excluded.owner, verified = excluded.verified`,
);

async function insertItems(
  to: VaultTx,
  items: readonly Item[],
  owners: ReadonlyMap<string, number>,
  mode: "insert" | "replace",
): Promise<readonly number[]> {
  if (items.length === 0) return [];
  const { rows } = await sql<{ ordinal: number }>`
    insert into catalog_items (vault, ordinal, is_node, id, recipe, record, next, owner, verified)
    select ${to.vault}::integer, x.* from unnest(
      ${bigints(items.map(({ ordinal }) => ordinal))}::bigint[],
      ${items.map(({ kind }) => kind === "node")}::boolean[],
      ${byteas(items.map(({ id }) => id))}::bytea[],
      ${byteas(items.map(({ recipe }) => recipe))}::bytea[],
      ${bigints(items.map(({ recordFrame }) => recordFrame))}::bigint[],
      ${bigints(items.map(({ next }) => next))}::bigint[],
      ${bigints(items.map(({ owner }) => owners.get(owner) ?? 0))}::bigint[],
      ${items.map(({ verified }) => verified)}::boolean[]
    ) as x (ordinal, is_node, id, recipe, record, next, owner, verified)
    order by x.ordinal on conflict (vault, ordinal) ${mode === "insert" ? sql.raw("do nothing") : replaceItem}
    returning ordinal`.execute(to.db);
  return rows.map(({ ordinal }) => ordinal);
}

/** In the order of the hooks, so that two uploads with the same content do not wait for each other. */
async function insertHooks(to: VaultTx, hooks: UploadUnit["hooks"]): Promise<void> {
  if (hooks.length === 0) return;
  const { vault } = to;
  await sql`
    insert into catalog_hooks (vault, hook, owner, ordinal)
    select distinct on (x.hook, i.owner) ${vault}::integer, x.hook, i.owner, i.ordinal
    from unnest(${bigints(hooks.map(([hook]) => hook))}::bigint[], ${bigints(hooks.map(([, ordinal]) => ordinal))}::bigint[])
        with ordinality as x (hook, ordinal, position)
      cross join lateral (
        select owner, ordinal from catalog_items where vault = ${vault} and ordinal = x.ordinal limit 1
      ) as i
    order by x.hook, i.owner, x.position desc
    on conflict (vault, hook, owner) do update set ordinal = excluded.ordinal
      where catalog_hooks.ordinal <> excluded.ordinal`.execute(to.db);
}

/**
 * Sets which segment follows which: where none does yet, or where both are of one owner. Of several for one segment the last
 * of its owner counts, or else the first.
 */
async function updateNext(to: VaultTx, follows: UploadUnit["follows"]): Promise<void> {
  if (follows.length === 0) return;
  const { vault } = to;
  const [earlier, later] = [bigints(follows.map(([one]) => one)), bigints(follows.map(([, next]) => next))];
  const ofOrdinal = (ordinal: string) =>
    sql`select ctid, owner from catalog_items where vault = ${vault} and ordinal = ${sql.ref(ordinal)} limit 1`;
  // Locked in their order first: then the rows stay where they are, and the update finds them by their place.
  await Promise.all([
    rowsOf(
      to,
      sql`select 1 from catalog_items where vault = ${vault} and ordinal = any(${earlier}::bigint[])
        order by ordinal for update`,
    ),
    rowsOf(
      to,
      sql`update catalog_items i set next = wanted.later from (
          select distinct on (x.earlier) x.later, earlier.ctid as place, (later.owner = earlier.owner) is true as is_own
          from unnest(${earlier}::bigint[], ${later}::bigint[]) with ordinality as x (earlier, later, position)
            cross join lateral (${ofOrdinal("x.earlier")}) as earlier
            left join lateral (${ofOrdinal("x.later")}) as later on true
          order by x.earlier, (later.owner = earlier.owner) is true desc,
            case when (later.owner = earlier.owner) is true then -x.position else x.position end
        ) as wanted
        where i.ctid = wanted.place and (i.next = 0 or wanted.is_own) and i.next <> wanted.later`,
    ),
  ]);
}

/** Adds the number of a client's unit. Returns false if the unit is registered already. */
export async function addUnitNumber(to: VaultTx, upload: string, number: number): Promise<boolean> {
  const rows = await rowsOf(
    to,
    sql`insert into catalog_units (vault, session, number)
      select vault, session, ${number}::bigint from catalog_uploads where vault = ${to.vault} and upload = ${upload}
      on conflict do nothing returning 1`,
  );
  return rows.length > 0;
}

/**
 * Throws `not_closed` if a client's unit, which is registered by now, needs a frame that is neither in the unit's packs nor
 * pinned by the upload, or slots that the frame does not have.
 */
export async function assertUnitIsPinned(to: VaultTx, session: number, unit: UploadUnit): Promise<void> {
  const { vault } = to;
  const own = new Map(unit.frames.map((row) => [row.frame, row]));
  const packs = new Set(unit.packs.map(({ pack }) => pack));
  const others = [...framesOfUnit(unit)].filter((frame) => !packs.has(own.get(frame)?.pack ?? ""));
  const read = sql<{ frame: number; is_meta: boolean; block_list: Buffer }>`
    select f.frame, f.is_meta, f.block_list from catalog_frames f
    where f.vault = ${vault} and f.frame = any(${bigints(others)}::bigint[]) and exists (
      select from catalog_pins p
      where p.vault = ${vault} and p.session = ${session}::bigint and p.pack = f.pack offset 0
    )`;
  const rows = others.length === 0 ? [] : await rowsOf(to, read);
  const pinned = new Map(rows.map((row) => [row.frame, row]));
  for (const frame of others)
    if (!pinned.has(frame)) throw new CatalogError("not_closed", `frame ${frame} is neither in the unit nor pinned`);
  assertSlotsExist(unit, (frame) => {
    const row = pinned.get(frame);
    return own.get(frame) ?? (row ? { kind: row.is_meta ? "meta" : "data", blockList: row.block_list } : null);
  });
}

/** Pins the packs of a unit for the upload. */
export function pinUnit(to: VaultTx, session: number, { packs }: UploadUnit): void {
  insertPins(
    to,
    packs.map(({ pack }) => [session, pack] as const),
  );
}

export async function setVerified(to: VaultTx, ordinals: readonly number[]): Promise<void> {
  const ofItems = sql`vault = ${to.vault} and ordinal = any(${bigints(ordinals)}::bigint[]) and not verified`;
  await Promise.all([
    rowsOf(to, sql`select 1 from catalog_items where ${ofItems} order by ordinal for no key update`),
    rowsOf(to, sql`update catalog_items set verified = true where ${ofItems}`),
  ]);
}
