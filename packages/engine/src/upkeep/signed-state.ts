/**
 * What the store itself says about a vault: policies in the chain, and snapshots with their sources and times from signed manifests. A
 * caller compares it with its own database before anything is deleted. A change of the database alone changes nothing of it.
 */

import { appendToChain, chainWriter } from "../catalog/vault-chain.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import { openDetails, openManifest } from "../format/manifest.ts";
import type { Retention } from "../format/snapshot.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";

/** A snapshot that is completed and not deleted, as chain and manifest have it. */
export interface SignedSnapshot {
  readonly id: string;
  /** When the authority accepted it. */
  readonly completedAt: number;
  readonly source: string;
  readonly retention: Retention;
}

export interface SignedSnapshots {
  readonly snapshots: readonly SignedSnapshot[];
  /** Snapshots of the chain whose manifest is missing or is another one. */
  readonly unreadable: readonly string[];
}

/** Manifests read at a time: a request takes 30 ms on S3, and a manifest has some ten KiB. */
const manifestsAtOnce = 16;

/** Reads all snapshots of the chain with their manifests. Throws `FormatError` if the chain is broken. */
export async function signedSnapshots(vault: Vault, signal?: AbortSignal): Promise<SignedSnapshots> {
  const live = [...(await vault.chain.read()).live()];
  const snapshots: SignedSnapshot[] = [];
  const unreadable: string[] = [];
  for (let at = 0; at < live.length; at += manifestsAtOnce) {
    signal?.throwIfAborted();
    const group = live.slice(at, at + manifestsAtOnce);
    const read = await Promise.all(group.map(([id, { manifestHash }]) => readSigned(vault, id, manifestHash)));
    for (const [i, [id, { retention }]] of group.entries()) {
      const found = read[i] ?? null;
      if (found === null) unreadable.push(id);
      else snapshots.push({ id, retention, ...found });
    }
  }
  return { snapshots, unreadable };
}

async function readSigned(
  { store, names, keys }: Vault,
  snapshot: string,
  manifestHash: Uint8Array,
): Promise<Pick<SignedSnapshot, "completedAt" | "source"> | null> {
  try {
    const bytes = await store.get(names.manifest(snapshot));
    if (!sameBytes(sha256(bytes), manifestHash)) return null;
    const manifest = openManifest(bytes, { snapshot, vaultId: keys.vaultId }, keys.authorityPublicKey);
    return { completedAt: manifest.row.completedAt, source: openDetails(keys, manifest).source };
  } catch (error) {
    if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return null;
    throw error;
  }
}

/** Adds a policy to the chain, as the caller encodes it. `scope` says what it is about; the newest one of a scope counts. */
export async function recordPolicy(vault: Vault, scope: string, policy: Uint8Array, by = ""): Promise<void> {
  await appendToChain(chainWriter(vault, vault.authority), () => ({ kind: "policy", scope, policy, by }));
}

/** The newest policy of every scope of the chain. */
export async function readPolicies(vault: Vault): Promise<ReadonlyMap<string, Uint8Array>> {
  return (await vault.chain.read()).policies;
}

/** What the chain has of the retention of a snapshot; null if it has no such snapshot or it is deleted. */
export async function signedRetention(vault: Vault, id: string): Promise<Retention | null> {
  const known = (await vault.chain.read()).snapshots.get(id);
  return known === undefined || known.deleted ? null : known.retention;
}

/** Whether the chain has a snapshot, or had one that is deleted, or never had it; and from when on a deleted one was let go. */
export type SignedPresence =
  | { readonly is: "there" | "unknown" }
  | { readonly is: "deleted"; readonly expiresAt: number | null };

export async function signedPresence(vault: Vault, id: string): Promise<SignedPresence> {
  const known = (await vault.chain.read()).snapshots.get(id);
  if (known === undefined) return { is: "unknown" };
  return known.deleted ? { is: "deleted", expiresAt: known.retention.expiresAt } : { is: "there" };
}
