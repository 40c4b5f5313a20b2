/** Sealed bytes of a pack. Without keys of its frames they say nothing. */

import type { Vault } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { type RangeConditions, type RangedContent, rangedReply } from "../kernel/http/range.ts";
import { Problem } from "../kernel/problems.ts";
import { sent, withStoreProblems } from "../snapshots/index.ts";

/** What is read of the store at a time. */
const pieceBytes = 4 * 1024 * 1024;

/** A pack, or the range that is wanted. `right`: who may go on reading it while it is sent. Throws `not_found`. */
export async function packReply(
  ctx: Ctx,
  conditions: RangeConditions,
  { vault, name }: { readonly vault: Vault; readonly name: string },
  right: Pick<RangedContent, "isAllowed" | "holder">,
) {
  const object = vault.names.pack(name);
  const stat = await withStoreProblems(() => vault.store.stat(object));
  if (stat === null) throw new Problem("not_found");
  return rangedReply(conditions, {
    // A pack is written once and never changed.
    ...{ size: stat.size, etag: `"${name}"`, ...right },
    chunks: ({ start, end }) =>
      sent(
        ctx,
        pieces(start, end, (range) => vault.store.get(object, { range })),
      ),
  });
}

async function* pieces(
  start: number,
  end: number,
  read: (range: { readonly offset: number; readonly length: number }) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (let offset = start; offset < end; offset += pieceBytes)
    yield await read({ offset, length: Math.min(pieceBytes, end - offset) });
}
