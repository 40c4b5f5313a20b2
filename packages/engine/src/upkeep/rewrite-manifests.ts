/**
 * Writes manifests again that are missing or damaged, from the snapshot's row in the catalog.
 *
 * The authority signs the new manifest in the place of the writer, under a session of upkeep. Reach, size, times and
 * retention are those of the row. The list of warnings was only in the damaged object and is lost; the number of warnings is
 * in the row and is kept.
 *
 * The chain gets the hash of the new manifest before the manifest is written. After a crash in between, scrub finds the
 * manifest missing or damaged again. If the snapshot is deleted meanwhile, the next prune deletes the new manifest.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import { beginClaimedUpload } from "../catalog/claim-session.ts";
import { appendToChain, chainWriter } from "../catalog/vault-chain.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import { acceptManifest, draftManifest, openManifest } from "../format/manifest.ts";
import { startSession } from "../format/session-header.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import type { ManifestFinding } from "./scrub.ts";

/** Only one small object is written. A process that takes longer than this has crashed. */
const rewriteLeaseMs = 10 * 60_000;

/** Writes the manifests again that scrub has found missing or damaged. Returns their names. */
export async function rewriteManifests(vault: Vault, findings: readonly ManifestFinding[]): Promise<readonly string[]> {
  const rewritten: string[] = [];
  for await (const { id, status } of allSnapshots(vault.catalog)) {
    const name = vault.names.manifest(id);
    if (status === "deleting" || !findings.some((each) => each.name === name)) continue;
    if (await rewriteManifest(vault, id)) rewritten.push(name);
  }
  return rewritten;
}

/** Attempts to write one manifest. A process that loses a race against another one writes again; more would be a loop. */
const maxAttempts = 5;

/** Returns false if there was nothing to do: the manifest has come back, another process has rewritten it, or it is deleted. */
async function rewriteManifest(vault: Vault, id: string): Promise<boolean> {
  const { ctx, catalog, store, names, keys, authority } = vault;
  const upload = `rewriteManifest ${id} ${hex(ctx.random(8))}`;
  // The snapshot is the base of this upload. So prune deletes nothing that the new manifest reaches.
  const start = await beginClaimedUpload(vault, {
    upload,
    owner: "upkeep",
    leaseUntil: ctx.now() + rewriteLeaseMs,
    base: id,
  });
  try {
    const row = await catalog.snapshot(id);
    if (row === null || row.status === "deleting" || (await isIntact(vault, id))) return false;
    const session = startSession(ctx, keys, authority, start);
    const draft = draftManifest(session, authority, { ...row, session: start.session }, { warnings: null });
    const manifest = acceptManifest(authority, draft, { at: row.completedAt, retention: row.retention });
    const manifestHash = sha256(manifest);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await appendToChain(chainWriter(vault, authority), () => ({ kind: "rewritten", snapshot: id, manifestHash }));
      await store.put(names.manifest(id), manifest);
      // Another process may have recorded or written its own manifest meanwhile.
      if (await isIntact(vault, id)) return true;
    }
    throw new FormatError(`${names.manifest(id)} does not stay as it was written`);
  } finally {
    await catalog.endUpload(upload);
  }
}

/** Whether the store has a valid manifest of the snapshot, and the one that the chain names. */
async function isIntact({ store, names, keys, chain }: Vault, id: string): Promise<boolean> {
  try {
    const bytes = await store.get(names.manifest(id));
    openManifest(bytes, { snapshot: id, vaultId: keys.vaultId }, keys.authorityPublicKey);
    const known = (await chain.read()).snapshots.get(id);
    return known === undefined || sameBytes(sha256(bytes), known.manifestHash);
  } catch (error) {
    if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return false;
    throw error;
  }
}
