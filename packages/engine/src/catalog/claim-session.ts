/**
 * Claims session numbers in the object store. A catalog that is older than the store (restored from a backup, copied, or new
 * for a store that is in use) would issue numbers that are used, and would delete packs that it does not know. The claims
 * show that a catalog is too old, before it writes or deletes anything.
 *
 * Every session claims its number before its first pack: backups, upkeep, and each prune. States of a claim:
 *   open     the catalog has issued number and nonce, durably; the object may be there or not
 *   ours     the object is there with our nonce; only now is anything written under the number
 *   taken    the object is there with another nonce: the catalog is *stale* until it is rebuilt
 * A crash leaves an open claim. The next upload or prune settles it if the object is in the store.
 */

import { FormatError, hex } from "../format/bytes.ts";
import type { ChainHead } from "../format/chain.ts";
import { lastPart } from "../format/object-names.ts";
import { decodeClaim, encodeClaim } from "../format/session-claim.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { VaultAccess } from "../vault.ts";
import type { Catalog, NewUpload, UploadStart } from "./catalog.ts";
import { OutdatedKeysError } from "./outdated-keys.ts";
import { applyRecordsAfter, compareRecord, describeHead } from "./vault-chain.ts";

/** The catalog does not know everything that is in the store: it must write and delete nothing. */
export class IncompleteCatalogError extends Error {
  override readonly name = "IncompleteCatalogError";
}

export type ClaimVault = Pick<VaultAccess, "catalog" | "store" | "names"> & {
  readonly keys: {
    readonly vaultId: Uint8Array;
    readonly authorityPublicKey: Uint8Array;
    /** Absent if the writer has its own copy of the keys: then the epoch in its session header is checked. */
    readonly epoch?: number | undefined;
  };
};

/**
 * Begins an upload and claims its session number. Rejects with `IncompleteCatalogError` if the catalog is stale, and with
 * `OutdatedKeysError` if the vault was opened with keys of an old epoch.
 */
export async function beginClaimedUpload(vault: ClaimVault, upload: NewUpload): Promise<UploadStart> {
  const [head] = await Promise.all([headInStore(vault), assertCatalogIsCurrent(vault)]);
  // A revocation whose process has ended after it wrote the record is not in the catalog yet.
  await applyRecordsAfter({ ...vault, ...vault.keys }, head);
  if (vault.keys.epoch !== undefined) await assertNewestEpoch(vault.catalog, vault.keys.epoch);
  const start = await vault.catalog.beginUpload(upload);
  try {
    await claim(vault, start);
    return start;
  } catch (error) {
    await vault.catalog.endUpload(upload.upload);
    throw error;
  }
}

/** Throws `OutdatedKeysError` if the chain names a newer epoch. All records of the chain must be applied to the catalog. */
export async function assertNewestEpoch(catalog: Catalog, epoch: number): Promise<void> {
  const newest = await catalog.newestEpoch();
  if (epoch < newest)
    throw new OutdatedKeysError(
      `the keys are of epoch ${epoch}, and the vault has epoch ${newest}: open the vault again`,
    );
}

/** Throws `FormatError` if the writer was revoked before this session. All records of the chain must be applied to the catalog. */
export async function assertNotRevoked(catalog: Catalog, { writerId, session }: SessionHeader): Promise<void> {
  const from = await catalog.revokedFrom(hex(writerId));
  if (from !== null && session >= from) throw new FormatError("the writer of this session is revoked");
}

/** Rejects with `IncompleteCatalogError` if the store has sessions that this catalog has not issued. */
export async function assertCatalogIsCurrent(vault: ClaimVault): Promise<void> {
  const { stale, open, next: before } = await vault.catalog.sessions();
  if (stale) throw staleCatalog("another catalog has used its numbers");
  for (const { session, nonce } of open) {
    const found = await readClaim(vault, session);
    if (found !== "absent") await settle(vault, session, found === nonce);
  }
  let highest = 0;
  for await (const { name } of vault.store.list(vault.names.sessions, { after: vault.names.session(before - 1) }))
    highest = Math.max(highest, Number(lastPart(name)));
  // Read after the listing: numbers that this catalog has issued meanwhile are below it.
  const { next } = await vault.catalog.sessions();
  if (highest >= next) throw staleCatalog(`the store has session ${highest}, the catalog would issue ${next} next`);
}

/** The newest chain record that the catalog knows. Rejects with `IncompleteCatalogError` if it is not in the store. */
async function headInStore(vault: ClaimVault): Promise<ChainHead> {
  const head = await vault.catalog.chainHead();
  const difference = describeHead(vault.names, head, await compareRecord(vault, head));
  if (difference !== null) throw new IncompleteCatalogError(difference);
  return head;
}

async function claim(vault: ClaimVault, { session, nonce }: UploadStart): Promise<void> {
  const body = encodeClaim(vault.keys.vaultId, { session, nonce });
  try {
    await vault.store.put(vault.names.session(session), body, { ifAbsent: true });
  } catch (error) {
    if (!isObjectStoreError(error, "exists")) throw error;
    // It may be ours: the store may have written it although an earlier attempt failed.
    return settle(vault, session, (await readClaim(vault, session)) === nonce);
  }
  await settle(vault, session, true);
}

async function settle(vault: ClaimVault, session: number, ours: boolean): Promise<void> {
  await vault.catalog.settleClaim(session, ours);
  if (!ours) throw staleCatalog(`another catalog has claimed session ${session}`);
}

/** The nonce of a claim; `damaged` if the object is not a claim of this session. */
export async function readClaim(vault: ClaimVault, session: number): Promise<number | "absent" | "damaged"> {
  try {
    return decodeClaim(await vault.store.get(vault.names.session(session)), vault.keys.vaultId, session);
  } catch (error) {
    if (isObjectStoreError(error, "not_found")) return "absent";
    if (error instanceof FormatError) return "damaged";
    throw error;
  }
}

function staleCatalog(why: string): IncompleteCatalogError {
  return new IncompleteCatalogError(`the catalog is older than the store (${why}): rebuild it first`);
}
