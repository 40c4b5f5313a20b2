/**
 * Compares the catalog with the vault's chain before anything is deleted. The chain is signed and in the store; the catalog
 * is a database that an attacker may have changed or replaced. A snapshot that the chain has and the catalog has not would
 * look dead, and a hold that only the chain has would be ignored. So a difference stops upkeep, with each difference named.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { Retention, SnapshotInfo } from "../catalog/catalog.ts";
import { appendToChain, applyNewRecords, ChainMismatchError, chainWriter } from "../catalog/vault-chain.ts";
import { FormatError } from "../format/bytes.ts";
import type { ChainSnapshot, ChainState } from "../format/chain-state.ts";
import { sha256 } from "../format/hash.ts";
import { openManifest } from "../format/manifest.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { isRunningSession } from "./orphan-packs.ts";

/** Chain and catalog are read one after the other while backups run. A real difference is found in every comparison. */
const maxComparisons = 3;

/**
 * Throws `ChainMismatchError` if the catalog and the chain disagree. `giveUp`: ids of snapshots that the chain has, that have
 * no manifest and no row, and that the caller gives up. The chain gets a record of their deletion.
 */
export async function assertChainMatches(vault: Vault, giveUp: readonly string[] = []): Promise<void> {
  let differences: readonly string[] = [];
  for (let i = 0; i < maxComparisons; i++) {
    differences = await findDifferences(vault, giveUp);
    if (differences.length === 0) return;
  }
  throw new ChainMismatchError(differences);
}

async function findDifferences(vault: Vault, giveUp: readonly string[]): Promise<string[]> {
  const state = await readChain(vault);
  if (typeof state === "string") return [state];
  await applyNewRecords(chainWriter(vault, vault.authority));
  const rows = new Set<string>();
  const differences = state.unknown.map(laterVersion);
  for await (const row of allSnapshots(vault.catalog)) {
    rows.add(row.id);
    const known = state.snapshots.get(row.id);
    if (row.status === "deleting" || (known === undefined && (await confirmRecovered(vault, row)))) continue;
    const difference = differenceOf(row.id, row, known);
    if (difference !== null) differences.push(difference);
  }
  for (const [id, { retention }] of state.live()) {
    if (rows.has(id) || (await isBeingCommitted(vault, id)) || (await vault.catalog.snapshot(id)) !== null) continue;
    if (isRetained(retention, vault.ctx.now())) differences.push(`${id} is held or locked in the chain and has no row`);
    else if ((await readManifest(vault, id)) !== null) differences.push(`${id} has a valid manifest and no row`);
    else if (!giveUp.includes(id)) differences.push(`${id} is in the chain and not in the catalog`);
    else if (state.unknown.length === 0) await recordGivenUp(vault, id);
  }
  return differences;
}

/** The chain gets a record of the deletion of a snapshot that has no row and that the caller gives up. */
export async function recordGivenUp(vault: Vault, snapshot: string): Promise<void> {
  await appendToChain(chainWriter(vault, vault.authority), async () => {
    await assertChainAllowsDeletion(vault, snapshot);
    return { kind: "deleted", snapshot, by: "given up" };
  });
}

/** Throws `ChainMismatchError` unless the chain has the snapshot, without a hold or a lock that is running. */
export async function assertChainAllowsDeletion(vault: Vault, id: string): Promise<void> {
  const { snapshots, unknown } = await vault.chain.read();
  assertKnownKinds(unknown);
  const known = snapshots.get(id);
  if (known === undefined) throw new ChainMismatchError([`${id} is in the catalog and not in the chain`]);
  if (isRetained(known.retention, vault.ctx.now()))
    throw new ChainMismatchError([`${id} is held or locked in the chain and being deleted in the catalog`]);
}

/** Throws `ChainMismatchError` if the chain has records of a later version: one of them may forbid a deletion. */
export function assertKnownKinds(unknown: readonly number[]): void {
  if (unknown.length > 0) throw new ChainMismatchError(unknown.map(laterVersion));
}

function laterVersion(sequence: number): string {
  return `record ${sequence} of the chain is of a later version`;
}

async function readChain(vault: Vault): Promise<ChainState | string> {
  try {
    return await vault.chain.read();
  } catch (error) {
    if (error instanceof FormatError) return error.message;
    throw error;
  }
}

/** What is different between a row and what the chain has of its snapshot; null if both agree. */
export function differenceOf(id: string, row: SnapshotInfo, known: ChainSnapshot | undefined): string | null {
  if (known === undefined) return `${id} is in the catalog and not in the chain`;
  if (known.deleted) return `${id} is in the catalog and deleted in the chain`;
  if (!sameRetention(row.retention, known.retention))
    return `${id} has another retention in the catalog than in the chain: ${described(row.retention)}, ${described(known.retention)}`;
  return null;
}

/**
 * A crash before the record of a completion leaves a manifest that a rebuild finds. Its signatures are valid, so the record
 * is written now. False if the snapshot was not recovered or its manifest does not read.
 */
async function confirmRecovered(vault: Vault, { id, status, retention }: SnapshotInfo): Promise<boolean> {
  if (status !== "recovered") return false;
  const bytes = await readManifest(vault, id);
  if (bytes === null) return false;
  const manifestHash = sha256(bytes);
  const writer = chainWriter(vault, vault.authority);
  const sequence = await appendToChain(writer, () => ({ kind: "completed", snapshot: id, manifestHash, retention }));
  await vault.catalog.changeRetention(id, retention, sequence);
  return true;
}

/** Whether the chain has the record of a snapshot and its upload has not committed the row yet. */
async function isBeingCommitted(vault: Vault, id: string): Promise<boolean> {
  const bytes = await readManifest(vault, id);
  if (bytes === null) return false;
  const { vaultId, authorityPublicKey } = vault.keys;
  return isRunningSession(vault, openManifest(bytes, { snapshot: id, vaultId }, authorityPublicKey).header);
}

/** The manifest of a snapshot; null if it is missing or not valid. */
async function readManifest(vault: Vault, id: string): Promise<Uint8Array | null> {
  try {
    const bytes = await vault.store.get(vault.names.manifest(id));
    const { vaultId, authorityPublicKey } = vault.keys;
    openManifest(bytes, { snapshot: id, vaultId }, authorityPublicKey);
    return bytes;
  } catch (error) {
    if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

/** Whether a hold or a lock protects a snapshot now. */
export function isRetained({ hold, lockedUntil }: Retention, now: number): boolean {
  return hold || (lockedUntil ?? 0) > now;
}

function sameRetention(a: Retention, b: Retention): boolean {
  return a.hold === b.hold && a.expiresAt === b.expiresAt && a.lockedUntil === b.lockedUntil;
}

function described({ hold, expiresAt, lockedUntil }: Retention): string {
  return `hold ${hold}, expires ${expiresAt ?? "never"}, locked until ${lockedUntil ?? "never"}`;
}
