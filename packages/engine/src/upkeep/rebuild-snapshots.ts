/** Reads the snapshots of a vault from its manifests, changes and tombstones. */

import type { SnapshotRow } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import { decodeChange, openDetails, openManifest } from "../format/manifest.ts";
import { lastPart } from "../format/object-names.ts";
import type { WriterRegistry } from "../format/writer-registration.ts";
import type { Vault } from "../vault.ts";
import type { Refusals } from "./rebuild-refusals.ts";
import type { KnownSessions } from "./rebuild-sessions.ts";

/** Returns a row for every snapshot with a valid manifest and without a valid tombstone. */
export async function readSnapshots(
  vault: Vault,
  writers: WriterRegistry,
  sessions: KnownSessions,
  refusals: Refusals,
): Promise<SnapshotRow[]> {
  const { store, names } = vault;
  const objects = new Map<string, string[]>();
  for await (const { name } of store.list(names.snapshots)) {
    const snapshot = name.slice(names.snapshots.length).split("/")[0] ?? "";
    objects.set(snapshot, [...(objects.get(snapshot) ?? []), name]);
  }
  const rows: SnapshotRow[] = [];
  for (const [snapshot, list] of objects) {
    const name = names.manifest(snapshot);
    if (!list.includes(name) || (await isDeleted(vault, refusals, snapshot, list))) continue;
    const row = await refusals.accept(name, () => readManifest(vault, writers, sessions, snapshot));
    if (row === null) continue;
    const changes = list.filter((each) => lastPart(each).startsWith("change-"));
    rows.push(await applyChanges(vault, refusals, row, changes));
  }
  return rows;
}

async function readManifest(
  vault: Vault,
  writers: WriterRegistry,
  sessions: KnownSessions,
  snapshot: string,
): Promise<SnapshotRow> {
  const { store, names, keys } = vault;
  const expected = { snapshot, vaultId: keys.vaultId };
  const bytes = await store.get(names.manifest(snapshot));
  const manifest = openManifest(bytes, expected, writers, keys.authorityPublicKey);
  await sessions.assertClaimed(manifest.header);
  const { session } = manifest.header;
  if (!sessions.isSameSession(manifest.header))
    throw new FormatError(`of a second session ${session}: a catalog was replaced without a rebuild`);
  sessions.addNumber(session);
  return { ...manifest.row, source: openDetails(keys.privateSeed, manifest).source };
}

async function isDeleted(
  vault: Vault,
  refusals: Refusals,
  snapshot: string,
  objects: readonly string[],
): Promise<boolean> {
  const { store, names, keys } = vault;
  const name = names.tombstone(snapshot);
  if (!objects.includes(name)) return false;
  const change = await refusals.accept(name, async () =>
    decodeChange(await store.get(name), { snapshot, vaultId: keys.vaultId }, keys.authorityPublicKey),
  );
  return change?.kind === "deleted";
}

/** Applies the changes of retention in the order of their numbers. */
async function applyChanges(
  vault: Vault,
  refusals: Refusals,
  row: SnapshotRow,
  changes: readonly string[],
): Promise<SnapshotRow> {
  const { store, keys, names } = vault;
  const expected = { snapshot: row.id, vaultId: keys.vaultId };
  let retention = row.retention;
  let newest = 0;
  for (const name of [...changes].sort()) {
    // The number of a damaged change is used too.
    const number = Number(lastPart(name).slice("change-".length));
    if (name === names.change(row.id, number)) newest = Math.max(newest, number);
    const change = await refusals.accept(name, async () =>
      decodeChange(await store.get(name), expected, keys.authorityPublicKey),
    );
    if (change?.kind === "retention" && name === names.change(row.id, change.number)) retention = change.retention;
  }
  return { ...row, retention, changes: newest };
}
