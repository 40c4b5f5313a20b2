/**
 * Session claims: the store arbitrates session numbers, so that a catalog which is older than the store is found out
 * before it does harm. An catalog restored from last night's backup, a second copy of it, or a new one over a used store
 * would give out numbers that are taken, and take for garbage what it has never seen.
 *
 * Every session, upkeep's included, claims its number before its first pack: one small object, put only where there is
 * none, kept for ever. The steps of a claim, in the catalog and in the store:
 *   open     the catalog has given out number and nonce, durably; the object may or may not be there
 *   ours     the object is there with our nonce; only then is anything written under the number
 *   taken    the object is there with another nonce: the catalog is *stale*, which only a rebuild ends
 * A crash between the steps leaves an open claim; whoever begins or collects next settles it first.
 *
 *   claim    magic "EMANETN1" · vault (16) · u32 session · u64 nonce
 *
 * Claims are not signed: they promise nothing but that a number is used. Whoever can write the bucket can make a catalog
 * stale by planting one, which costs a rebuild and loses nothing.
 */

import { ByteReader, ByteWriter, FormatError, sameBytes } from "../format/bytes.ts";
import { lastPart } from "../format/object-names.ts";
import { vaultIdLength } from "../format/vault-keys.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { VaultAccess } from "../vault.ts";
import type { NewUpload, UploadStart } from "./catalog.ts";

const magic = Buffer.from("EMANETN1");

/** The catalog does not know everything that is in the store: nothing may be written or deleted by it. */
export class IncompleteCatalogError extends Error {
  override readonly name = "IncompleteCatalogError";
}

export type ClaimVault = Pick<VaultAccess, "catalog" | "store" | "names"> & {
  readonly keys: { readonly vaultId: Uint8Array };
};

/** Begins an upload whose session number is claimed in the store. Rejects with `IncompleteCatalogError` on a stale catalog. */
export async function beginClaimed(vault: ClaimVault, upload: NewUpload): Promise<UploadStart> {
  await assertNewest(vault);
  const start = await vault.catalog.beginUpload(upload);
  try {
    await claim(vault, start);
    return start;
  } catch (error) {
    await vault.catalog.endUpload(upload.upload);
    throw error;
  }
}

/** Rejects with `IncompleteCatalogError` where the store shows sessions that this catalog has not given out. */
export async function assertNewest(vault: ClaimVault): Promise<void> {
  const { stale, open, next: before } = await vault.catalog.sessions();
  if (stale) throw staleCatalog("another catalog has used its numbers");
  for (const { session, nonce } of open) {
    const found = await readClaim(vault, session);
    if (found !== "absent") await settle(vault, session, found === nonce);
  }
  let highest = 0;
  for await (const { name } of vault.store.list(vault.names.sessions, { after: vault.names.session(before - 1) }))
    highest = Math.max(highest, Number(lastPart(name)));
  // Read after the listing: what this catalog gave out meanwhile is below it.
  const { next } = await vault.catalog.sessions();
  if (highest >= next) throw staleCatalog(`the store has session ${highest}, the catalog would give ${next} next`);
}

async function claim(vault: ClaimVault, { session, nonce }: UploadStart): Promise<void> {
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

async function settle(vault: ClaimVault, session: number, ours: boolean): Promise<void> {
  await vault.catalog.settleClaim(session, ours);
  if (!ours) throw staleCatalog(`session ${session} is another's`);
}

/** The nonce of a claim; `damaged` where the object is none. */
export async function readClaim(vault: ClaimVault, session: number): Promise<number | "absent" | "damaged"> {
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

function staleCatalog(why: string): IncompleteCatalogError {
  return new IncompleteCatalogError(`the catalog is older than the store (${why}): rebuild it first`);
}
