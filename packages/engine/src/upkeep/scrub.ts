/**
 * Scrub: reads every object of a vault and finds changed, missing and unknown ones, without secret keys.
 *
 * In: the store, the catalog, the vault's id, and the public key of the authority. Out: findings about packs, manifests, the
 * chain and key objects, and the frames whose damage mark is probably wrong. Scrub changes nothing. The caller marks
 * damaged frames in the catalog, repairs key objects and manifests, and rewrites damaged packs whose frames are intact.
 *
 * A pack is intact if its signature is valid and the bytes of every frame give the frame id. If header or footer are
 * damaged, the frames are still checked one by one against the catalog, so that only damaged frames are reported.
 *
 * Backups and upkeep run meanwhile, and a listing of the store may lag. So a pack is missing only if reading it fails. And a
 * finding counts only if the catalog, asked again afterwards, still has the frame in that pack. If scrub is interrupted,
 * it starts again from the beginning.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { Catalog, FramePlace, FrameVersion } from "../catalog/catalog.ts";
import type { ChainFault } from "../catalog/vault-chain.ts";
import { VaultChain } from "../catalog/vault-chain.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { ChainState } from "../format/chain-state.ts";
import { frameIdOf } from "../format/frame.ts";
import { sha256 } from "../format/hash.ts";
import { openManifest } from "../format/manifest.ts";
import type { VaultNames } from "../format/object-names.ts";
import { lastPart } from "../format/object-names.ts";
import type { VaultIdentity } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { isKeyObject } from "../format/vault-keys.ts";
import type { ObjectStore } from "../object-store.ts";
import { isObjectStoreError } from "../object-store.ts";
import { isIssuedSession } from "./orphan-packs.ts";

/** Packs that are damaged outside the frames of the catalog. Nothing is lost yet, and `rewritePacks` makes them whole. */
export function packsToRewrite(findings: readonly PackFinding[]): string[] {
  return findings.filter(({ kind, frames }) => kind === "damaged" && frames.length === 0).map(({ pack }) => pack);
}

export interface PackFinding {
  readonly pack: string;
  readonly kind: "missing" | "damaged" | "unknown";
  readonly reason: string;
  /** Frames whose bytes are wrong or missing, and which the catalog still had in this pack after they were read. */
  readonly frames: readonly FrameVersion[];
}

/** A manifest that is missing or damaged. Its snapshot still has a row in the catalog. */
export interface ManifestFinding {
  readonly name: string;
  readonly kind: "missing" | "damaged";
  readonly reason: string;
}

/** A key object that is missing, is not of this vault, or differs from its copy. Only the master key shows which is right. */
export interface KeyFinding {
  readonly name: string;
  readonly reason: string;
}

export interface ScrubReport {
  readonly packs: number;
  readonly bytes: number;
  readonly findings: readonly PackFinding[];
  readonly manifests: readonly ManifestFinding[];
  readonly keys: readonly KeyFinding[];
  /** Records of the chain that are missing or wrong. */
  readonly chain: readonly ChainFault[];
  /** Frames that are marked as damaged and whose bytes give the frame id. */
  readonly intactFrames: readonly FrameVersion[];
}

export interface ScrubOptions {
  readonly store: ObjectStore;
  readonly names: VaultNames;
  readonly catalog: Catalog;
  /** What packs, manifests and chain records are checked against. */
  readonly identity: VaultIdentity;
  /** Only these packs, so that a large vault is read in parts; all if absent. Manifests, chain and keys are checked every time. */
  readonly select?: ((pack: string) => boolean) | undefined;
  readonly onProgress?: ((progress: { readonly packs: number; readonly bytes: number }) => void) | undefined;
}

/** Reads every selected pack once. One pack is in memory at a time. */
export async function scrub(options: ScrubOptions): Promise<ScrubReport> {
  const expected = await framesByPack(options.catalog);
  for await (const { pack, state } of options.catalog.allPacks()) {
    if (state === "deleting") expected.delete(pack);
    else if (!expected.has(pack)) expected.set(pack, []);
  }
  const isSelected = options.select ?? (() => true);
  const findings: PackFinding[] = [];
  const intactFrames: FrameVersion[] = [];
  let packs = 0;
  let bytes = 0;
  const check = async (pack: string, rows: readonly FramePlace[] | null) => {
    const read = await readPack(options, pack);
    const finding = await checkPack(options, pack, read, rows);
    if (finding !== null) findings.push(finding);
    intactFrames.push(...(rows ?? []).filter((row) => row.damaged && read !== null && matchesFrameId(read, row)));
    packs += read === null ? 0 : 1;
    bytes += read?.length ?? 0;
    options.onProgress?.({ packs, bytes });
  };
  for await (const { name } of options.store.list(options.names.packs)) {
    const pack = lastPart(name);
    const rows = expected.get(pack) ?? null;
    expected.delete(pack);
    if (isSelected(pack)) await check(pack, rows);
  }
  // These packs were not listed. They are missing only if they cannot be read either.
  for (const [pack, rows] of expected) if (isSelected(pack)) await check(pack, rows);
  const { state, faults } = await new VaultChain({ ...options, ...options.identity }).readAll();
  const manifests = await checkManifests(options, state);
  return { packs, bytes, findings, manifests, chain: faults, keys: await checkKeys(options), intactFrames };
}

/** Every key object has a copy with the same bytes. A changed bit in one of them is a difference. */
async function checkKeys({ store, names, identity }: ScrubOptions): Promise<KeyFinding[]> {
  const findings: KeyFinding[] = [];
  const objects = new Map<string, Uint8Array>();
  for await (const { name } of store.list(names.keys)) {
    const bytes = await store.get(name);
    if (isKeyObject(bytes, identity.vaultId)) objects.set(name, bytes);
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

/** Reads the manifest of every snapshot, and compares it with the hash that the chain has. */
async function checkManifests(
  { store, names, catalog, identity }: ScrubOptions,
  chain: ChainState,
): Promise<ManifestFinding[]> {
  const findings: ManifestFinding[] = [];
  const { vaultId, authorityPublicKey } = identity;
  for await (const { id, status } of allSnapshots(catalog)) {
    const name = names.manifest(id);
    try {
      if (status === "deleting") continue;
      const bytes = await store.get(name);
      openManifest(bytes, { snapshot: id, vaultId }, authorityPublicKey);
      const known = chain.snapshots.get(id);
      if (known !== undefined && !sameBytes(sha256(bytes), known.manifestHash))
        throw new FormatError("another manifest than the chain has");
    } catch (error) {
      const gone = isObjectStoreError(error, "not_found");
      if (!gone && !(error instanceof FormatError)) throw error;
      // The snapshot may have been deleted since the rows were read.
      const row = await catalog.snapshot(id);
      if (row !== null && row.status !== "deleting")
        findings.push({ name, kind: gone ? "missing" : "damaged", reason: error.message });
    }
  }
  return findings;
}

/** Checks one pack. `bytes` is null if it cannot be read, `rows` where the catalog did not have it. */
async function checkPack(
  options: ScrubOptions,
  pack: string,
  bytes: Uint8Array | null,
  rows: readonly FramePlace[] | null,
): Promise<PackFinding | null> {
  const broken = (rows ?? []).filter((row) => bytes === null || !matchesFrameId(bytes, row));
  const found = bytes === null ? null : await checkPackTable(options, pack, bytes);
  if (rows !== null && broken.length === 0 && found?.reason === null) return null;
  // Frames may have moved since the rows were read. So the catalog is asked again.
  const frames = await currentVersions(options.catalog, broken);
  const [row = null] = await options.catalog.packs([pack]);
  if (row === null || row.state === "deleting") {
    if (rows !== null || bytes === null) return null;
    // An upload that goes on, or an orphan of one that was interrupted: prune deletes it.
    if (found !== null && "header" in found && (await isIssuedSession(options, found.header))) return null;
    return { pack, kind: "unknown", reason: found?.reason ?? "the catalog does not have this pack", frames: [] };
  }
  if (bytes === null) return { pack, kind: "missing", reason: "the pack is not in the store", frames };
  const reason = found?.reason ?? (frames.length > 0 ? "its frames are not those of the catalog" : null);
  return reason === null ? null : { pack, kind: "damaged", reason, frames };
}

/** Checks a pack against its own header and footer. Returns what is wrong, or its header. */
async function checkPackTable(
  options: ScrubOptions,
  pack: string,
  bytes: Uint8Array,
): Promise<{ readonly reason: string } | { readonly reason: null; readonly header: SessionHeader }> {
  try {
    const read = async (at: number, length: number) => bytes.subarray(at, at + length);
    const { frames, header } = await readPackTable(pack, bytes.length, read, options.identity);
    const changed = frames.find((frame) => !matchesFrameId(bytes, frame));
    return changed === undefined ? { reason: null, header } : { reason: `frame ${changed.frame} changed` };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { reason: error.message };
  }
}

/** Whether the bytes of a frame in the pack give its frame id. */
function matchesFrameId(
  pack: Uint8Array,
  { offset, length, frameId }: Pick<FramePlace, "offset" | "length" | "frameId">,
) {
  return sameBytes(frameIdOf(pack.subarray(offset, offset + length)), frameId);
}

/** Returns those of the rows that are still in the catalog, as frame versions. */
async function currentVersions(catalog: Catalog, rows: readonly FramePlace[]): Promise<readonly FrameVersion[]> {
  const now = await catalog.framePlaces(rows.map(({ frame }) => frame));
  return rows
    .filter(({ pack, generation }, i) => now[i]?.pack === pack && now[i]?.generation === generation)
    .map(({ frame, pack, generation }) => ({ frame, pack, generation }));
}

async function readPack({ store, names }: ScrubOptions, pack: string): Promise<Uint8Array | null> {
  try {
    return await store.get(names.pack(pack));
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

async function framesByPack(catalog: Catalog): Promise<Map<string, FramePlace[]>> {
  const packs = new Map<string, FramePlace[]>();
  for await (const row of catalog.allFrames()) {
    const rows = packs.get(row.pack) ?? [];
    if (rows.length === 0) packs.set(row.pack, rows);
    rows.push(row);
  }
  return packs;
}
