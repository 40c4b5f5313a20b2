/**
 * Scrubbing: finds every changed, missing or foreign byte of the packs, and every damaged manifest, without any secret.
 * It needs the vault's id and the public keys of the authority and the registered writers, nothing else.
 *
 * A pack is sound when its signature holds and every frame's bytes give the frame's id. Where the envelope (header,
 * footer) is broken, the frames are still judged one by one by what the catalog says, so that only what is lost counts as
 * lost.
 *
 * Backups and upkeep go on meanwhile, and a listing may lag: a pack is missing only where reading it fails, and what looks
 * wrong counts only if the catalog still has it there. A frame that is marked as damaged and reads well is told, so that
 * somebody with keys takes the mark away (`recheckDamagedFrames`).
 */

import type { Catalog, FrameRow, FrameVersion } from "../catalog/catalog.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import { frameIdOf } from "../format/frame.ts";
import { openManifest } from "../format/manifest.ts";
import type { VaultNames } from "../format/object-names.ts";
import { lastPart } from "../format/object-names.ts";
import type { TrustedWriters } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import { isKeyObject } from "../format/vault-keys.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";

export interface PackFinding {
  readonly pack: string;
  readonly kind: "missing" | "damaged" | "foreign";
  readonly reason: string;
  /** Frames that the catalog places in the pack, still after they were read, and whose bytes are wrong or gone. */
  readonly frames: readonly FrameVersion[];
}

/** A snapshot's manifest that is gone or does not read: while the catalog is there it can still be told. */
export interface ManifestFinding {
  readonly name: string;
  readonly kind: "missing" | "damaged";
  readonly reason: string;
}

/** A key object that is gone, is none of this vault's, or differs from its copy. Which of two is right, the master key says. */
export interface KeyFinding {
  readonly name: string;
  readonly reason: string;
}

export interface ScrubReport {
  readonly packs: number;
  readonly bytes: number;
  readonly findings: readonly PackFinding[];
  /** Empty too where no authority's key was given to judge them by. */
  readonly manifests: readonly ManifestFinding[];
  readonly keys: readonly KeyFinding[];
  /** Frames that are marked as damaged and whose bytes are what the catalog says. */
  readonly readClean: readonly FrameVersion[];
}

export interface ScrubOptions {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly catalog: Catalog;
  readonly judge: TrustedWriters;
  readonly authorityPublicKey?: Uint8Array | undefined;
  readonly onProgress?: ((progress: { readonly packs: number; readonly bytes: number }) => void) | undefined;
}

/** Reads every pack once. One pack is in memory at a time. */
export async function scrub(options: ScrubOptions): Promise<ScrubReport> {
  const expected = await framesByPack(options.catalog);
  for (const { pack, state } of await options.catalog.packs()) {
    if (state === "deleting") expected.delete(pack);
    else if (!expected.has(pack)) expected.set(pack, []);
  }
  const findings: PackFinding[] = [];
  const readClean: FrameVersion[] = [];
  let packs = 0;
  let bytes = 0;
  const judge = async (pack: string, rows: readonly FrameRow[] | null) => {
    const read = await readWhole(options, pack);
    const finding = await checkPack(options, pack, read, rows);
    if (finding !== null) findings.push(finding);
    readClean.push(...(rows ?? []).filter((row) => row.damaged && read !== null && isAsIndexed(read, row)));
    packs += read === null ? 0 : 1;
    bytes += read?.length ?? 0;
    options.onProgress?.({ packs, bytes });
  };
  for await (const { name } of options.store.list(options.names.packs)) {
    const pack = lastPart(name);
    const rows = expected.get(pack) ?? null;
    expected.delete(pack);
    await judge(pack, rows);
  }
  // Not listed is not missing.
  for (const [pack, rows] of expected) await judge(pack, rows);
  const manifests = await checkManifests(options);
  return { packs, bytes, findings, manifests, keys: await checkKeys(options), readClean };
}

/** Every key object has a twin with the same bytes: a flipped bit in either shows. */
async function checkKeys({ store, names, judge }: ScrubOptions): Promise<KeyFinding[]> {
  const findings: KeyFinding[] = [];
  const objects = new Map<string, Uint8Array>();
  for await (const { name } of store.list(names.keys)) {
    const bytes = await store.get(name);
    if (isKeyObject(bytes, judge.vaultId)) objects.set(name, bytes);
    else findings.push({ name, reason: "not a key object of this vault" });
  }
  const epochs = new Set([...objects.keys()].map((name) => Number.parseInt(lastPart(name), 10)));
  if (epochs.size === 0) findings.push({ name: names.keys, reason: "there is no key object" });
  for (const epoch of epochs) {
    const pair = [names.keyObject(epoch), names.keyCopy(epoch)] as const;
    const [one, two] = pair.map((name) => objects.get(name));
    if (one !== undefined && two !== undefined && sameBytes(one, two)) continue;
    for (const name of pair) {
      const reason = objects.has(name) ? "differs from its copy" : "missing";
      const both = one !== undefined && two !== undefined;
      if (!findings.some((each) => each.name === name) && (both || !objects.has(name))) findings.push({ name, reason });
    }
  }
  return findings;
}

async function checkManifests({ store, names, catalog, judge, ...more }: ScrubOptions): Promise<ManifestFinding[]> {
  const findings: ManifestFinding[] = [];
  if (more.authorityPublicKey === undefined) return findings;
  for (const { id, status } of await catalog.snapshots()) {
    const name = names.manifest(id);
    try {
      const expected = { snapshot: id, vaultId: judge.vaultId };
      if (status !== "deleting") openManifest(await store.get(name), expected, judge.writers, more.authorityPublicKey);
    } catch (error) {
      const gone = isObjectStoreError(error, "not_found");
      if (!gone && !(error instanceof FormatError)) throw error;
      // Deleted since the rows were read?
      const there = (await catalog.snapshots()).some((row) => row.id === id && row.status !== "deleting");
      if (there) findings.push({ name, kind: gone ? "missing" : "damaged", reason: error.message });
    }
  }
  return findings;
}

async function checkPack(
  options: ScrubOptions,
  pack: string,
  bytes: Uint8Array | null,
  rows: readonly FrameRow[] | null,
): Promise<PackFinding | null> {
  const broken = (rows ?? []).filter((row) => bytes === null || !isAsIndexed(bytes, row));
  const found = bytes === null ? null : await envelopeFault(options, pack, bytes);
  if (rows !== null && broken.length === 0 && found?.reason === null) return null;
  // Rows were read before the pack, and things move: only what the catalog says now counts.
  const frames = await stillThere(options.catalog, broken);
  const row = (await options.catalog.packs()).find((each) => each.pack === pack);
  if (row === undefined || row.state === "deleting") {
    if (rows !== null || bytes === null) return null;
    const { live } = await options.catalog.sessions();
    if (found?.reason === null && live.includes(found.session)) return null;
    return { pack, kind: "foreign", reason: found?.reason ?? "the catalog does not know this pack", frames: [] };
  }
  if (bytes === null) return { pack, kind: "missing", reason: "the pack does not read: it is not there", frames };
  const reason = found?.reason ?? (frames.length > 0 ? "not the pack that the catalog knows" : null);
  return reason === null ? null : { pack, kind: "damaged", reason, frames };
}

/** What is wrong with a pack by its own table, and the session that it says it is of. */
async function envelopeFault(
  options: ScrubOptions,
  pack: string,
  bytes: Uint8Array,
): Promise<{ readonly reason: string | null; readonly session: number }> {
  try {
    const read = async (at: number, length: number) => bytes.subarray(at, at + length);
    const { frames, header } = await readPackTable(pack, bytes.length, read, options.judge);
    const changed = frames.find((frame) => !isAsIndexed(bytes, frame));
    return { reason: changed === undefined ? null : `frame ${changed.frame} changed`, session: header.session };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { reason: error.message, session: 0 };
  }
}

function isAsIndexed(pack: Uint8Array, { offset, length, frameId }: Pick<FrameRow, "offset" | "length" | "frameId">) {
  return sameBytes(frameIdOf(pack.subarray(offset, offset + length)), frameId);
}

/** Of these versions the ones that are still their frames'. */
async function stillThere(catalog: Catalog, rows: readonly FrameRow[]): Promise<readonly FrameVersion[]> {
  const now = await catalog.frames(rows.map(({ frame }) => frame));
  return rows
    .filter(({ pack, generation }, i) => now[i]?.pack === pack && now[i]?.generation === generation)
    .map(({ frame, pack, generation }) => ({ frame, pack, generation }));
}

async function readWhole({ store, names }: ScrubOptions, pack: string): Promise<Uint8Array | null> {
  try {
    return await store.get(names.pack(pack));
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

async function framesByPack(catalog: Catalog): Promise<Map<string, FrameRow[]>> {
  const packs = new Map<string, FrameRow[]>();
  for await (const row of catalog.allFrames()) {
    const rows = packs.get(row.pack) ?? [];
    if (rows.length === 0) packs.set(row.pack, rows);
    rows.push({ ...row, blockList: new Uint8Array(0) });
  }
  return packs;
}
