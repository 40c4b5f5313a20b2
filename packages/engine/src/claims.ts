/**
 * Session claims: the store arbitrates session numbers, so that an index which is older than the store is found out
 * before it does harm. An index restored from last night's backup, a second copy of it, or a new one over a used store
 * would give out numbers that are taken, and take for garbage what it has never seen.
 *
 * Every session, upkeep's included, claims its number before its first pack: one small object, put only where there is
 * none, kept for ever. The steps of a claim, in the index and in the store:
 *   open     the index has given out number and nonce, durably; the object may or may not be there
 *   ours     the object is there with our nonce; only then is anything written under the number
 *   taken    the object is there with another nonce: the index is *stale*, which only a rebuild ends
 * A crash between the steps leaves an open claim; whoever begins or collects next settles it first.
 *
 *   claim    magic "EMANETN1" · vault (16) · u32 session · u64 nonce
 *
 * Claims are not signed: they promise nothing but that a number is used. Whoever can write the bucket can make an index
 * stale by planting one, which costs a rebuild and loses nothing.
 */

import { ByteReader, ByteWriter, FormatError, sameBytes } from "./bytes.ts";
import type { NewUpload, UploadStart } from "./index/port.ts";
import { vaultIdLength } from "./keys/vault-keys.ts";
import { lastPart } from "./names.ts";
import { isObjectStoreError } from "./object-store.ts";
import type { VaultAccess } from "./vault.ts";

const magic = Buffer.from("EMANETN1");

/** The index does not know everything that is in the store: nothing may be written or deleted by it. */
export class IncompleteIndexError extends Error {
  override readonly name = "IncompleteIndexError";
}

export type Claiming = Pick<VaultAccess, "index" | "store" | "names"> & {
  readonly keys: { readonly vaultId: Uint8Array };
};

/** Begins an upload whose session number is claimed in the store. Rejects with `IncompleteIndexError` on a stale index. */
export async function beginClaimed(vault: Claiming, upload: NewUpload): Promise<UploadStart> {
  await assertNewest(vault);
  const start = await vault.index.beginUpload(upload);
  try {
    await claim(vault, start);
    return start;
  } catch (error) {
    await vault.index.endUpload(upload.upload);
    throw error;
  }
}

/** Rejects with `IncompleteIndexError` where the store shows sessions that this index has not given out. */
export async function assertNewest(vault: Claiming): Promise<void> {
  const { stale, open, next: before } = await vault.index.sessions();
  if (stale) throw staleIndex("another index has used its numbers");
  for (const { session, nonce } of open) {
    const found = await readClaim(vault, session);
    if (found !== "absent") await settle(vault, session, found === nonce);
  }
  let highest = 0;
  for await (const { name } of vault.store.list(vault.names.sessions, { after: vault.names.session(before - 1) }))
    highest = Math.max(highest, Number(lastPart(name)));
  // Read after the listing: what this index gave out meanwhile is below it.
  const { next } = await vault.index.sessions();
  if (highest >= next) throw staleIndex(`the store has session ${highest}, the index would give ${next} next`);
}

async function claim(vault: Claiming, { session, nonce }: UploadStart): Promise<void> {
  const body = new ByteWriter().raw(magic).raw(vault.keys.vaultId).u32(session).u64(nonce).take();
  try {
    await vault.store.put(vault.names.session(session), body, { ifAbsent: true });
  } catch (error) {
    if (!isObjectStoreError(error, "exists")) throw error;
    // Ours after all, where the answer to an earlier attempt got lost.
    return settle(vault, session, (await readClaim(vault, session)) === nonce);
  }
  await settle(vault, session, true);
}

async function settle(vault: Claiming, session: number, ours: boolean): Promise<void> {
  await vault.index.settleClaim(session, ours);
  if (!ours) throw staleIndex(`session ${session} is another's`);
}

/** The nonce of a claim; `damaged` where the object is none. */
export async function readClaim(vault: Claiming, session: number): Promise<number | "absent" | "damaged"> {
  try {
    const reader = new ByteReader(await vault.store.get(vault.names.session(session)));
    const known = sameBytes(reader.raw(8), magic) && sameBytes(reader.raw(vaultIdLength), vault.keys.vaultId);
    const nonce = known && reader.u32() === session ? reader.u64() : "damaged";
    if (known) reader.done();
    return nonce;
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return "absent";
    if (error instanceof FormatError) return "damaged";
    throw error;
  }
}

function staleIndex(why: string): IncompleteIndexError {
  return new IncompleteIndexError(`the index is older than the store (${why}): rebuild it first`);
}
