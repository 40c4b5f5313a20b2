/** What every step of a run of retention needs. */

import type { Vault } from "@emanet/engine";
import type { Clock, Random } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface ApplyPayload {
  readonly accountId: string;
  readonly vaultId: string;
}

export interface Steps extends ApplyPayload {
  readonly vault: Vault;
  /** Another vault of the account. */
  readonly openVault: (vaultId: string) => Promise<Vault>;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  /** The earliest of three clocks. */
  readonly now: Date;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
}
