/** What a link leads to: a file, or an archive. It is read with the rights of the link's maker. */

import type { AccessSpec, Ctx } from "../kernel/http/endpoint.ts";
import { type RangeConditions, rangedReply } from "../kernel/http/range.ts";
import type { ReplyStream, StreamHolder } from "../kernel/http/reply-stream.ts";
import { Problem } from "../kernel/problems.ts";
import { openArchive, restoreAccess, visibleRestore } from "../restores/index.ts";
import { type ArchiveFormat, archiveReply, entryAt, openContent, rangedFile } from "../snapshots/index.ts";
import type { LinkMaker } from "./link-makers.ts";
import type { LinkRow } from "./store.ts";

/** Who may make links to snapshots, and use them. */
export const snapshotAccess = {
  method: "POST",
  access: { kind: "account", scope: "snapshots:read" },
  withinVaults: true,
  // Downloads are restores: a suspended account has them.
  whileSuspended: true,
} as const satisfies AccessSpec;

/** What a link leads to. */
export type LinkTarget =
  | {
      readonly kind: "snapshot";
      readonly id: string;
      readonly path: Buffer | null;
      readonly format: ArchiveFormat | null;
    }
  | { readonly kind: "restore"; readonly id: string };

export function targetOf({ snapshot_id, restore_id, path, format }: LinkRow): LinkTarget {
  if (restore_id !== null) return { kind: "restore", id: restore_id };
  if (snapshot_id === null) throw new Error("a link that leads nowhere");
  return { kind: "snapshot", id: snapshot_id, path, format };
}

/** Who may make and use links to it. */
export function accessTo({ kind }: LinkTarget): AccessSpec {
  return kind === "snapshot" ? snapshotAccess : restoreAccess;
}

/** The reply with the content, or the part of it that is wanted. Throws what its own operation would. */
export async function contentReply(ctx: Ctx, maker: LinkMaker, target: LinkTarget, conditions: RangeConditions) {
  if (target.kind === "restore")
    return rangedReply(conditions, await openArchive(ctx, await visibleRestore(ctx, maker, target.id)));
  const content = await openContent(ctx, maker, target.id);
  const path = target.path ?? Buffer.alloc(0);
  const entry = await entryAt(content, path);
  if (entry === null) throw new Problem("not_found");
  if (entry.type === "file" && target.format === null) return rangedReply(conditions, rangedFile(ctx, content, entry));
  return { status: 200, ...archiveReply(ctx, content, { entry, path }, target.format ?? "tar") } as const;
}

/** The same stream, whose right is that of the link's maker and not of the caller. */
export function heldBy(
  ctx: Ctx,
  link: LinkRow,
  { isAllowed = () => true, ...stream }: ReplyStream,
  access: AccessSpec,
): ReplyStream & { readonly holder: StreamHolder } {
  const { downloads } = ctx.services;
  const recheck = async () => {
    const maker = await downloads.makerOf(link, access).catch((error: unknown) => {
      // Rights are changed only in the database. The next check asks again.
      if (error instanceof Problem && error.code === "unavailable") return null;
      throw error;
    });
    if (maker !== null && !isAllowed(maker)) throw new Problem("download_expired");
  };
  return { ...stream, holder: { accountId: link.account_id, recheck } };
}
