/**
 * What the service decided about an erasure: by which act, whose, when it began and what was there. It is sealed in the row. Who has the database alone
 * cannot make such a seal, so a row of theirs destroys nothing, and no proof says what they wrote.
 */

import type { Secrets } from "../kernel/secrets.ts";
import type { ErasureDecision } from "../retention/index.ts";

export interface Decided extends ErasureDecision {
  readonly id: string;
  readonly accountId: string;
  readonly vaultId: string;
  readonly begunAt: Date;
  readonly keyObjects: number;
  readonly objects: number;
  readonly bytes: number;
  readonly snapshots: number;
  /** Null: not yet. */
  readonly keysDestroyedAt: Date | null;
}

export function sealDecided(secrets: Secrets, decided: Decided): Buffer {
  return secrets.seal("erasure", Buffer.from(JSON.stringify(decided)), boundTo(decided.id, decided.vaultId));
}

/** Null: the service has not written this row. */
export function openDecided(
  secrets: Secrets,
  row: { readonly id: string; readonly account_id: string; readonly vault_id: string; readonly sealed: Buffer | null },
): Decided | null {
  if (row.sealed === null) return null;
  let plain: Buffer;
  try {
    plain = secrets.unseal("erasure", row.sealed, boundTo(row.id, row.vault_id));
  } catch {
    return null;
  }
  const read = JSON.parse(plain.toString()) as {
    [Key in keyof Decided]: Decided[Key] extends number ? number : string;
  };
  if (read.accountId !== row.account_id) return null;
  const { dueAt, begunAt, keysDestroyedAt } = read;
  return {
    ...(read as unknown as Decided),
    ...{ dueAt: new Date(dueAt), begunAt: new Date(begunAt) },
    keysDestroyedAt: keysDestroyedAt === null ? null : new Date(keysDestroyedAt),
  };
}

/** A seal of one row opens in no other. */
function boundTo(id: string, vaultId: string): Buffer {
  return Buffer.from(`${id} ${vaultId}`);
}
