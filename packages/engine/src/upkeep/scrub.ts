/**
 * Scrubbing: finds every changed, missing or foreign byte of the packs, and every damaged manifest, without any secret.
 * It needs the vault's id and the public keys of the authority and the registered writers, nothing else.
 *
 * A pack is sound when its signature holds and every frame's bytes give the frame's id. Where the envelope (header,
 * footer) is broken, the frames are still judged one by one by what the index says, so that only what is lost counts as
 * lost.
 */

import { FormatError, sameBytes } from "../bytes.ts";
import { frameIdOf } from "../frames/frame.ts";
import type { FrameRow, VaultIndex } from "../index/port.ts";
import { isKeyObject } from "../keys/vault-keys.ts";
import { openManifest } from "../manifest.ts";
import type { VaultNames } from "../names.ts";
import { lastPart } from "../names.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { PackJudge } from "../packs/pack.ts";
import { readPackTable } from "../packs/pack.ts";

export interface PackFinding {
  readonly pack: string;
  readonly kind: "missing" | "damaged" | "foreign";
  readonly reason: string;
  /** Frames that the index places in the pack and whose bytes are wrong or gone. */
  readonly frames: readonly number[];
}

/** A snapshot's manifest that is gone or does not read: while the index is there it can still be told. */
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
}

export interface ScrubOptions {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly index: VaultIndex;
  readonly judge: PackJudge;
  readonly authorityPublicKey?: Uint8Array | undefined;
  readonly onProgress?: ((progress: { readonly packs: number; readonly bytes: number }) => void) | undefined;
}

/** Reads every pack once. One pack is in memory at a time. */
export async function scrub(options: ScrubOptions): Promise<ScrubReport> {
  const expected = await framesByPack(options.index);
  for (const { pack, state } of await options.index.packs()) {
    if (state === "deleting") expected.delete(pack);
    else if (!expected.has(pack)) expected.set(pack, []);
  }
  const findings: PackFinding[] = [];
  const live = new Set((await options.index.sessions()).live);
  let packs = 0;
  let bytes = 0;
  for await (const { name, size } of options.store.list(options.names.packs)) {
    const pack = lastPart(name);
    const rows = expected.get(pack) ?? null;
    expected.delete(pack);
    const finding = await judgePack(options, pack, size, rows, live);
    if (finding !== null) findings.push(finding);
    packs++;
    bytes += size;
    options.onProgress?.({ packs, bytes });
  }
  for (const [pack, rows] of expected) {
    findings.push({
      pack,
      kind: "missing",
      reason: "the pack is not in the store",
      frames: rows.map(({ frame }) => frame),
    });
  }
  return { packs, bytes, findings, manifests: await judgeManifests(options), keys: await judgeKeys(options) };
}

/** Every key object has a twin with the same bytes: a flipped bit in either shows. */
async function judgeKeys({ store, names, judge }: ScrubOptions): Promise<KeyFinding[]> {
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

async function judgeManifests({ store, names, index, judge, ...more }: ScrubOptions): Promise<ManifestFinding[]> {
  const findings: ManifestFinding[] = [];
  if (more.authorityPublicKey === undefined) return findings;
  for (const { id, status } of await index.snapshots()) {
    const name = names.manifest(id);
    try {
      const expected = { snapshot: id, vaultId: judge.vaultId };
      if (status !== "deleting") openManifest(await store.get(name), expected, judge.writers, more.authorityPublicKey);
    } catch (error) {
      const gone = isObjectStoreError(error, "not_found");
      if (!gone && !(error instanceof FormatError)) throw error;
      // Deleted since the rows were read?
      const there = (await index.snapshots()).some((row) => row.id === id && row.status !== "deleting");
      if (there) findings.push({ name, kind: gone ? "missing" : "damaged", reason: error.message });
    }
  }
  return findings;
}

async function judgePack(
  options: ScrubOptions,
  pack: string,
  size: number,
  rows: readonly FrameRow[] | null,
  live: ReadonlySet<number>,
): Promise<PackFinding | null> {
  const bytes = await readWhole(options, pack, size);
  if (bytes === null)
    return { pack, kind: "missing", reason: "the pack vanished", frames: (rows ?? []).map(({ frame }) => frame) };
  const broken = (rows ?? []).filter(
    ({ offset, length, frameId }) => !sameBytes(frameIdOf(bytes.subarray(offset, offset + length)), frameId),
  );
  const frames = broken.map(({ frame }) => frame);
  try {
    const table = await readPackTable(
      pack,
      bytes.length,
      async (at, length) => bytes.subarray(at, at + length),
      options.judge,
    );
    for (const { offset, length, frameId, frame } of table.frames) {
      if (!sameBytes(frameIdOf(bytes.subarray(offset, offset + length)), frameId)) {
        return { pack, kind: "damaged", reason: `frame ${frame} changed`, frames };
      }
    }
    if (rows === null && !live.has(table.header.session)) {
      return { pack, kind: "foreign", reason: "the index does not know this pack", frames: [] };
    }
    return frames.length > 0 ? { pack, kind: "damaged", reason: "not the pack that the index knows", frames } : null;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { pack, kind: rows === null ? "foreign" : "damaged", reason: error.message, frames };
  }
}

async function readWhole({ store, names }: ScrubOptions, pack: string, size: number): Promise<Uint8Array | null> {
  try {
    return size === 0 ? new Uint8Array(0) : await store.get(names.pack(pack));
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

async function framesByPack(index: VaultIndex): Promise<Map<string, FrameRow[]>> {
  const packs = new Map<string, FrameRow[]>();
  for await (const row of index.allFrames()) {
    const rows = packs.get(row.pack) ?? [];
    if (rows.length === 0) packs.set(row.pack, rows);
    rows.push({ ...row, directory: new Uint8Array(0) });
  }
  return packs;
}
