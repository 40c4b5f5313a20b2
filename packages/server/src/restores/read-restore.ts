/** Restores that a caller may see, and the archive of a completed one. */

import type { AccessSpec, Ctx } from "../kernel/http/endpoint.ts";
import type { RangedContent } from "../kernel/http/range.ts";
import { type Principal, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { downloadHeaders, openTree, sent, withStoreProblems } from "../snapshots/index.ts";
import { assertVaultAllowed, isVaultAllowed } from "../vaults/index.ts";
import { archiveRange } from "./archive-range.ts";
import { hasExpired, isSnapshotGone } from "./rules.ts";
import { findRestore, formatOf, type RestoreRecord } from "./store.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** Who may download a restore. */
export const restoreAccess = {
  method: "GET",
  access: { kind: "account", scope: "restores:read" },
  withinVaults: true,
} as const satisfies AccessSpec;

/** A smaller range is over at once. It needs no place among the large ones. */
const smallRangeBytes = 4 * 1024 * 1024;

/** Throws `not_found`. */
export async function visibleRestore(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<RestoreRecord> {
  const restore = await ctx.read(rowAccessOf(principal), (tx) => findRestore(tx, principal.accountId, id));
  if (restore === undefined) throw new Problem("not_found");
  assertVaultAllowed(principal, restore.vault_id);
  return restore;
}

/** The archive. Throws by its state: `state_conflict` before it is completed, `download_expired` afterwards. */
export async function openArchive(ctx: Ctx, restore: RestoreRecord): Promise<RangedContent> {
  const { id, account_id: accountId, archive_bytes: size } = restore;
  if (restore.state !== "completed" || size === null) throw new Problem("state_conflict");
  if (hasExpired(restore, ctx.clock.now()) || isSnapshotGone(restore)) throw new Problem("download_expired");
  const format = formatOf(restore);
  const { readers, reads } = ctx.services.snapshots;
  const tree = await withStoreProblems(() => openTree(ctx.services, { ...restore, id: restore.snapshot_id }));
  const read = <T>(work: Parameters<typeof ctx.read<T>>[1]) => ctx.read({ kind: "account", accountId }, work);
  return {
    size,
    etag: `"${format}-${id}"`,
    headers: { ...downloadHeaders(Buffer.from(`${id}.${format}`)), "Content-Type": mediaTypes[format] },
    isAllowed: (principal) => "accountId" in principal && isVaultAllowed(principal, restore.vault_id),
    chunks(range, signal) {
      const isSmall = range.end - range.start <= smallRangeBytes;
      const make = () => {
        const reader = isSmall ? tree.reader : readers.own(tree.vault);
        return sent(ctx, archiveRange({ restore, content: { reader, root: tree.root }, read }, range, signal));
      };
      return isSmall ? make() : reads.stream(accountId, signal, make);
    },
  };
}

const mediaTypes = { tar: "application/x-tar", zip: "application/zip" } as const;
