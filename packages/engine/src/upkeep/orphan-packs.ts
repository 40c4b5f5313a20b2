/**
 * Orphan packs: packs in the store without a row in the catalog. An upload that was interrupted before it registered its
 * packs leaves them.
 *
 * An orphan is deleted only if the catalog itself has issued its session, with number and nonce, and the upload of that
 * session has ended. Any other pack without a row is *unknown*: it is reported and not deleted, because it may belong to a
 * newer catalog.
 */

import { FormatError } from "../format/bytes.ts";
import { lastPart } from "../format/object-names.ts";
import type { PackTable } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { identityOf } from "../vault.ts";

export interface UnknownPack {
  readonly name: string;
  readonly reason: string;
}

export interface OrphanPackReport {
  readonly orphanPacks: readonly string[];
  /** Packs without a row that were not deleted. */
  readonly unknownPacks: readonly UnknownPack[];
}

/** Deletes orphan packs and reports unknown packs. */
export async function deleteOrphanPacks(vault: Vault): Promise<OrphanPackReport> {
  const unknownPacks: UnknownPack[] = [];
  const orphanPacks: string[] = [];
  const known = new Set<string>();
  for await (const { pack } of vault.catalog.allPacks()) known.add(pack);
  for await (const { name, size } of vault.store.list(vault.names.packs)) {
    const pack = lastPart(name);
    if (known.has(pack) || (await hasRow(vault, pack))) continue;
    const table = await readTable(vault, pack, size);
    if (table === "absent") continue;
    if ("reason" in table) unknownPacks.push(table);
    else if (!(await isIssuedSession(vault, table.header)))
      unknownPacks.push({ name, reason: `of session ${table.header.session}, which this catalog did not issue` });
    // The upload may have registered the pack since it was listed.
    else if (!(await isRunningSession(vault, table.header)) && !(await hasRow(vault, pack))) {
      await vault.store.delete(name);
      orphanPacks.push(pack);
    }
  }
  return { orphanPacks, unknownPacks };
}

/** Whether the catalog itself has issued this session: the same number with the same nonce. */
export async function isIssuedSession(
  { catalog }: Pick<Vault, "catalog">,
  { session, nonce }: SessionHeader,
): Promise<boolean> {
  return (await catalog.issuedNonce(session)) === nonce;
}

/** Whether the upload of this session is still running. */
export async function isRunningSession(vault: Vault, { session }: SessionHeader): Promise<boolean> {
  return (await vault.catalog.sessions()).running.includes(session);
}

async function hasRow(vault: Vault, pack: string): Promise<boolean> {
  return (await vault.catalog.packs([pack]))[0] !== null;
}

async function readTable(vault: Vault, pack: string, size: number): Promise<PackTable | UnknownPack | "absent"> {
  const name = vault.names.pack(pack);
  try {
    const read = (offset: number, length: number) => vault.store.get(name, { range: { offset, length } });
    return await readPackTable(pack, size, read, identityOf(vault));
  } catch (error) {
    if (error instanceof FormatError) return { name, reason: error.message };
    if (isObjectStoreError(error, "not_found")) return "absent";
    throw error;
  }
}
