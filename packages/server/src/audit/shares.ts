/**
 * Shares: an auditor outside the account reads a selection of its records with a secret. The secret is shown once and kept as a hash. A
 * share ends by its time, by a revocation, or when the account is closed. Whether it has ended is asked of the database with every read.
 */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { RowAccess } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { RecordFilter } from "./record-store.ts";
import { findByToken, isLive, type ShareRow } from "./share-store.ts";

/** The contract's longest time. */
export const maxShareDays = 90;

/** What is usual for a review. */
export const usualShareDays = 30;

/** More than an office has auditors at a time. */
export const maxLiveShares = 50;

/** 256 bits. */
const tokenBytes = 32;
const tokenPattern = /^shr_[A-Za-z0-9_-]{43}$/;

export function newShareToken({ random }: Pick<Ctx, "random">): string {
  return `shr_${random.bytes(tokenBytes).toString("base64url")}`;
}

export function shareTokenHash({ secrets }: Pick<Ctx, "secrets">, token: string): Buffer {
  return secrets.digest("audit-share", `token ${token}`);
}

export function accessOfShare({ account_id: accountId }: ShareRow): Extract<RowAccess, { kind: "account" }> {
  return { kind: "account", accountId };
}

/** The share of a request. From here on audit records of the request name it as the actor. */
export async function requireShare(ctx: Ctx, token: string | null): Promise<ShareRow> {
  if (token === null) throw new Problem("missing_token");
  if (!tokenPattern.test(token)) throw new Problem("invalid_token");
  const found = await ctx.read({ kind: "system" }, (tx) => findByToken(tx, shareTokenHash(ctx, token)));
  if (found === undefined) throw new Problem("invalid_token");
  const { account_state: state, ...share } = found;
  const hasEnded = share.revoked_at !== null || share.expires_at <= ctx.clock.now() || state === "closed";
  if (hasEnded) throw new Problem("share_revoked");
  ctx.actAs({ kind: "share", id: share.id });
  return share;
}

/** Throws when the share has ended. */
export async function requireLive(tx: ReadTx, share: ShareRow): Promise<void> {
  if (!(await isLive(tx, share))) throw new Problem("share_revoked");
}

/** Reads of a share: each asks in the same round trip whether the share has ended. */
export function readerOf(ctx: Ctx, share: ShareRow): <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T> {
  return (work) =>
    ctx.read(accessOfShare(share), async (tx) => {
      const [result] = await Promise.all([work(tx), requireLive(tx, share)]);
      return result;
    });
}

/** Records a read of the share in the account's chain. What is read is read after its commit: none leaves unrecorded. */
export async function recordRead(
  ctx: Ctx,
  share: ShareRow,
  entry: Pick<Parameters<Tx["audit"]>[0], "action" | "metadata"> & {
    readonly targets?: Parameters<Tx["audit"]>[0]["targets"];
  },
  work: (tx: Tx) => Promise<void> = async () => undefined,
): Promise<void> {
  await ctx.tx(accessOfShare(share), async (tx) => {
    await requireLive(tx, share);
    await work(tx);
    tx.audit({ ...entry, targets: [{ type: "audit_share", id: share.id }, ...(entry.targets ?? [])] });
  });
}

export function filterOf({ filter }: ShareRow): RecordFilter {
  return filter as RecordFilter;
}
