/**
 * Reads the snapshots of a vault from its chain and its manifests. The chain says which snapshots there must be and under
 * which retention; a manifest says what a snapshot reaches.
 */

import type { SnapshotRow } from "../catalog/catalog.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { ChainSnapshot, ChainState } from "../format/chain-state.ts";
import { sha256 } from "../format/hash.ts";
import { openDetails, openManifest } from "../format/manifest.ts";
import { lastPart } from "../format/object-names.ts";
import type { ReadableVault } from "../vault.ts";
import type { Refusals } from "./rebuild-refusals.ts";
import type { KnownSessions } from "./rebuild-sessions.ts";

export interface FoundSnapshots {
  readonly rows: readonly SnapshotRow[];
  /** Snapshots that the chain has and whose manifest is missing or refused. An attacker may have hidden them. */
  readonly hidden: readonly string[];
  /** Snapshots with a valid manifest that the chain does not have: a crash before the record, or a lost record. */
  readonly unconfirmed: readonly string[];
}

/** Returns a row for every snapshot with a valid manifest that the chain has not deleted. */
export async function readSnapshots(
  vault: ReadableVault,
  chain: ChainState,
  sessions: KnownSessions,
  refusals: Refusals,
): Promise<FoundSnapshots> {
  const { store, names } = vault;
  const rows: SnapshotRow[] = [];
  const unconfirmed: string[] = [];
  for await (const { name } of store.list(names.snapshots)) {
    const snapshot = lastPart(name);
    const known = chain.snapshots.get(snapshot);
    if (known?.deleted === true) continue;
    const row = await refusals.accept(name, () => readManifest(vault, chain, sessions, snapshot));
    if (row === null) continue;
    rows.push(known === undefined ? row : { ...row, retention: known.retention, changes: known.sequence });
    if (known === undefined) unconfirmed.push(snapshot);
  }
  const found = new Set(rows.map(({ id }) => id));
  const hidden = [...chain.live()].map(([id]) => id).filter((id) => !found.has(id));
  return { rows, hidden, unconfirmed };
}

async function readManifest(
  vault: ReadableVault,
  chain: ChainState,
  sessions: KnownSessions,
  snapshot: string,
): Promise<SnapshotRow> {
  const { store, names, keys } = vault;
  const bytes = await store.get(names.manifest(snapshot));
  const manifest = openManifest(bytes, { snapshot, vaultId: keys.vaultId }, keys.authorityPublicKey);
  assertInChain(bytes, chain.snapshots.get(snapshot));
  sessions.assertNotRevoked(manifest.header, chain.revoked);
  await sessions.assertClaimed(manifest.header);
  const { session } = manifest.header;
  if (!sessions.isSameSession(manifest.header))
    throw new FormatError(`of a second session ${session}: a catalog was replaced without a rebuild`);
  sessions.addNumber(session);
  return { ...manifest.row, source: openDetails(keys, manifest).source };
}

/** Throws `FormatError` if the chain has another manifest of this snapshot. */
function assertInChain(manifest: Uint8Array, known: ChainSnapshot | undefined): void {
  if (known !== undefined && !sameBytes(sha256(manifest), known.manifestHash))
    throw new FormatError("another manifest than the chain has");
}
