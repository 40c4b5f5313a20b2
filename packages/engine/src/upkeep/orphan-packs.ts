/**
 * Orphan packs: packs in the store without a row in the catalog. An upload that was interrupted before it registered its
 * packs leaves them.
 *
 * An orphan is deleted only if the catalog itself has given out its session, with number and nonce, and the upload of that
 * session has ended. Every other unknown pack is left alone and reported: it may belong to a newer catalog.
 */

import { FormatError } from "../format/bytes.ts";
import { lastPart } from "../format/object-names.ts";
import type { PackTable } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { identityOf } from "../vault.ts";

export interface UnknownObject {
  readonly name: string;
  readonly reason: string;
}

export interface OrphanPackReport {
  readonly orphanPacks: readonly string[];
  /** Unknown packs that were left alone. */
  readonly foreign: readonly UnknownObject[];
}

/** Deletes orphan packs and reports the other unknown ones. */
export async function deleteOrphanPacks(vault: Vault): Promise<OrphanPackReport> {
  const foreign: UnknownObject[] = [];
  const orphanPacks: string[] = [];
  const known = new Set((await vault.catalog.packs()).map(({ pack }) => pack));
  for await (const { name, size } of vault.store.list(vault.names.packs)) {
    const pack = lastPart(name);
    if (known.has(pack) || (await hasRow(vault, pack))) continue;
    const table = await readTable(vault, pack, size);
    if (table === "absent") continue;
    if ("reason" in table) foreign.push(table);
    else if (!(await isIssuedSession(vault, table.header)))
      foreign.push({ name, reason: `of session ${table.header.session}, which this catalog did not give out` });
    // The upload may have registered the pack since it was listed.
    else if (!(await isRunningSession(vault, table.header)) && !(await hasRow(vault, pack))) {
      await vault.store.delete(name);
      orphanPacks.push(pack);
    }
  }
  return { orphanPacks, foreign };
}

/** Whether the catalog itself has given out this session: the same number with the same nonce. */
export async function isIssuedSession(vault: Vault, { session, nonce }: SessionHeader): Promise<boolean> {
  return (await vault.catalog.issuedNonce(session)) === nonce;
}

/** Whether the upload of this session is still running. */
export async function isRunningSession(vault: Vault, { session }: SessionHeader): Promise<boolean> {
  return (await vault.catalog.sessions()).live.includes(session);
}

async function hasRow(vault: Vault, pack: string): Promise<boolean> {
  return (await vault.catalog.packs()).some((row) => row.pack === pack);
}

async function readTable(vault: Vault, pack: string, size: number): Promise<PackTable | UnknownObject | "absent"> {
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
