/** A snapshot as the read protocol gives it out. */

import { Bitmap, type ReadableItems, type Vault } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { contentProblem, engineId, keepForReading, visibleSnapshot, withStoreProblems } from "../snapshots/index.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

export const readType = "application/vnd.emanet.read";

/** Between two steps of a call: longer than a slow object store takes for a range. */
export const deadlineMs = 60_000;

export interface ReadableSnapshot extends ReadableItems {
  readonly vault: Vault;
  readonly vaultId: string;
}

/** Throws `not_found`, and by its state `state_conflict` or `snapshot_expired`. */
export async function openReadable(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<ReadableSnapshot> {
  const record = await visibleSnapshot(ctx, principal, id);
  const problem = contentProblem(record.status);
  if (problem !== null) throw new Problem(problem);
  await keepForReading(ctx, record);
  return readable(ctx, { accountId: principal.accountId, vaultId: record.vault_id, snapshotId: id });
}

/** What a right to read gives out. The caller has checked the right. */
interface ReadRight {
  readonly accountId: string;
  readonly vaultId: string;
  readonly snapshotId: string;
  /** Only these items of the snapshot; all that it reaches if absent. */
  readonly reach?: Bitmap;
}

export async function readable(ctx: Ctx, { accountId, vaultId, ...right }: ReadRight): Promise<ReadableSnapshot> {
  const { vaults, snapshots } = ctx.services;
  return withStoreProblems(async () => {
    const vault = await vaults.open(accountId, vaultId);
    const row = await vault.catalog.snapshot(engineId(right.snapshotId));
    if (row === null) throw new Error("a completed snapshot that the catalog does not have");
    const root = { ordinal: row.rootOrdinal, id: row.rootId };
    const reach = right.reach ?? Bitmap.decode(row.reach);
    return { vault, vaultId, port: snapshots.readers.port(vault), root, reach };
  });
}
