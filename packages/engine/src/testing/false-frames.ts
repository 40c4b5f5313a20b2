/** Frames as a writer with the keys could make them: they open, and their content is not what their block list says. */

import assert from "node:assert/strict";
import type { FrameRow } from "../catalog/catalog.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { openFrame, readFrameHeader, sealFrame } from "../format/frame.ts";
import { frameKey, openContentKey, parseSessionHeader, sessionBinding } from "../format/session-header.ts";
import type { Vault } from "../vault.ts";
import { allFrameRows } from "./catalog-content.ts";

/** Seals every data frame again with one changed byte. The content must be incompressible, so that the lengths stay. */
export async function sealFalseFrames(vault: Vault): Promise<void> {
  for await (const row of allFrameRows(vault.catalog)) if (row.kind === "data") await replace(vault, row);
}

async function replace(vault: Vault, row: FrameRow): Promise<void> {
  const name = vault.names.pack(row.pack);
  const pack = Buffer.from(await vault.store.get(name));
  const sealed = pack.subarray(row.offset, row.offset + row.length);
  const header = readFrameHeader(sealed);
  const session = parseSessionHeader((await vault.catalog.session(row.session))?.header ?? Buffer.alloc(0));
  const contentKey = openContentKey(vault.keys, session);
  const binding = sessionBinding(session);
  const plain = openFrame(sealed, frameKey(contentKey, header), binding);
  assert.ok(parseDataFrame(plain).blocks.length > 0);
  plain[0] = (plain[0] ?? 0) ^ 1;
  const again = sealFrame({ ...header, contentKey, binding }, plain, header.codec === 0 ? "none" : "fast");
  assert.equal(again.length, row.length);
  pack.set(again, row.offset);
  await vault.store.put(name, pack);
}
