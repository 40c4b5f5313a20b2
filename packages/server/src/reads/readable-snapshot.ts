/** A snapshot as the read protocol gives it out. */

import type { Bitmap, ReadableItems, Vault } from "@emanet/engine";
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
  const vaultId = await readableVaultId(ctx, principal, id);
  return readable(ctx, { accountId: principal.accountId, vaultId, snapshotId: id });
}

/** The vault of a snapshot, whose packs a reader of the snapshot may have. Throws like `openReadable`. */
export async function openPacks(ctx: Ctx, principal: AccountPrincipal, id: string) {
  const vaultId = await readableVaultId(ctx, principal, id);
  return { vaultId, vault: await withStoreProblems(() => ctx.services.vaults.open(principal.accountId, vaultId)) };
}

async function readableVaultId(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<string> {
  const record = await visibleSnapshot(ctx, principal, id);
  const problem = contentProblem(record.status);
  if (problem !== null) throw new Problem(problem);
  await keepForReading(ctx, record);
  return record.vault_id;
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
    const { root, reach } = await snapshots.readers.tree(vault, engineId(right.snapshotId));
    return { vault, vaultId, port: snapshots.readers.port(vault), root, reach: right.reach ?? reach };
  });
}
