/**
 * Restating: a manifest that is gone or damaged is written anew from its snapshot's row. The authority, which countersigned
 * it once, now also signs in the writer's place, under a session of its own; what the snapshot reaches, its size, times and
 * retention are the row's. The list of warnings was in the damaged object only and is lost; their number is kept.
 *
 * A deletion that begins meanwhile has the last word: its tombstone makes the next collection remove the manifest again.
 */

import { beginClaimedUpload } from "../catalog/claim-session.ts";
import { hex } from "../format/bytes.ts";
import { countersign, draftManifest, openManifest } from "../format/manifest.ts";
import { startSession } from "../format/session-header.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";
import type { ManifestFinding } from "./scrub.ts";

/** One small object is written; a run that takes longer than this has died. */
const restateLeaseMs = 10 * 60_000;

/** Writes the manifests anew that scrubbing found wanting. Returns the names of those that are whole again. */
export async function rewriteManifests(vault: Vault, findings: readonly ManifestFinding[]): Promise<readonly string[]> {
  const restated: string[] = [];
  for (const { id, status } of await vault.catalog.snapshots()) {
    const name = vault.names.manifest(id);
    if (status === "deleting" || !findings.some((each) => each.name === name)) continue;
    await rewriteManifest(vault, id);
    restated.push(name);
  }
  return restated;
}

async function rewriteManifest(vault: Vault, id: string): Promise<void> {
  const { ctx, catalog, store, names, keys, authority } = vault;
  const upload = `rewriteManifest ${id} ${hex(ctx.random(8))}`;
  // With the snapshot as its base: what the new manifest reaches is protected until it is there.
  const start = await beginClaimedUpload(vault, {
    upload,
    owner: "upkeep",
    leaseUntil: ctx.now() + restateLeaseMs,
    base: id,
  });
  try {
    const row = (await catalog.snapshots()).find((each) => each.id === id);
    if (row === undefined) return;
    const session = startSession(ctx, keys, authority, start);
    const draft = draftManifest(session, authority, { ...row, session: start.session }, []);
    const manifest = countersign(authority, draft, { at: row.completedAt, retention: row.retention });
    await store.put(names.manifest(id), manifest);
    const expected = { snapshot: id, vaultId: keys.vaultId };
    openManifest(await store.get(names.manifest(id)), expected, await readWriters(vault), keys.authorityPublicKey);
  } finally {
    await catalog.endUpload(upload);
  }
}
