/** The offset of a file that is being sent, for a client that resumes (tus 1.0). */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import { findSnapshot, isCreator } from "../snapshots/index.ts";
import { isVaultAllowed } from "../vaults/index.ts";
import { requirePath } from "./file-paths.ts";
import { findFileUpload } from "./file-upload-store.ts";
import { type AccountPrincipal, isFileByFile, isOpen } from "./open-snapshot.ts";
import { findFile } from "./store.ts";

export interface FileOffset {
  readonly offset: number;
  readonly length: number;
}

/**
 * The offset of a file in an open upload of the caller. Null if the snapshot is no such upload. Throws `not_found` if the upload
 * has no such file. A file that is whole has its length as offset: the answer to its last part may have been lost.
 */
export async function fileOffset(
  ctx: Ctx,
  principal: AccountPrincipal,
  id: string,
  { pathBytes, language }: { readonly pathBytes: Buffer; readonly language: Language },
): Promise<FileOffset | null> {
  return ctx.read(rowAccessOf(principal), async (tx) => {
    const record = await findSnapshot(tx, principal.accountId, id);
    if (record === undefined || !isOpen(record) || !isFileByFile(record)) return null;
    if (!isVaultAllowed(principal, record.vault_id) || !isCreator(principal, record)) return null;
    const path = requirePath(pathBytes, language);
    const upload = await findFileUpload(tx, id, path);
    if (upload !== undefined) return { offset: upload.offset_bytes, length: upload.length_bytes };
    const size = (await findFile(tx, id, path))?.size_bytes;
    if (size == null) throw new Problem("not_found");
    return { offset: size, length: size };
  });
}
