/** Makes the catalog of one vault from the object store, and the rows of its snapshots. */

import { allSnapshots, FormatError, type RebuildReport, signedPresence, type Vault } from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { Transactions } from "../kernel/tx.ts";
import { recoverActs } from "../retention/index.ts";
import { addRecovered, engineId, noteRemoved, readRecovered, unremovedPage } from "../snapshots/index.ts";
import { addLostSource, noteRebuilt, type Vaults } from "../vaults/index.ts";
import { ofService } from "./beat.ts";

export interface VaultResult {
  readonly vault_id: string;
  readonly account_id: string;
  readonly packs: number;
  readonly snapshots: number;
  /** Snapshots that the table did not have. */
  readonly added: number;
  /** Snapshots that the table had and whose content was removed since. */
  readonly removed: number;
  /** Snapshots that the table has and that the store has never seen: it is older, or another one. */
  readonly missing: readonly string[];
  /** Sources that no record had. */
  readonly lost_sources: number;
  /** Snapshots that the chain has and whose manifest is missing or refused. */
  readonly hidden: readonly string[];
  /** Snapshots that the chain does not have. */
  readonly unconfirmed: readonly string[];
  /** Snapshots that lack content. */
  readonly incomplete: readonly string[];
  /** Objects that were not accepted, and why. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** Records of the chain that are missing or wrong. */
  readonly chain_faults: readonly { readonly name: string; readonly reason: string }[];
  readonly lost_frames: number;
}

/** A vault that cannot be opened: no key object of it is there, or none opens with this master key. */
export interface LostVault {
  readonly vault_id: string;
  readonly account_id: string;
  readonly reason: string;
}

interface Parts {
  readonly random: Random;
  readonly transactions: Transactions;
  readonly vaults: Vaults;
}

export interface VaultPlace {
  readonly accountId: string;
  readonly vaultId: string;
}

/** Rows that are added in one transaction. */
const rowsPerStep = 200;

type Make = (vault: Vault) => Promise<RebuildReport>;

/** The vaults of all accounts, one after the other. One that cannot be opened is named, and the others go on. */
export class RebuiltVaults {
  readonly vaults: VaultResult[] = [];
  readonly lost: LostVault[] = [];

  async add(parts: Parts, place: VaultPlace, make: Make): Promise<void> {
    try {
      this.vaults.push(await rebuildVault(parts, place, make));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.lost.push({ vault_id: place.vaultId, account_id: place.accountId, reason: error.message });
    }
  }

  get areWhole(): boolean {
    return this.lost.length === 0 && this.vaults.every(isWhole);
  }
}

/** `make` fills the catalog: `rebuild` or `recover` of the engine. */
async function rebuildVault(
  { transactions, vaults, random }: Parts,
  place: VaultPlace,
  make: Make,
): Promise<VaultResult> {
  const access = { kind: "account", accountId: place.accountId } as const;
  const run = <T>(work: Parameters<typeof transactions.run<T>>[2]) => transactions.run(ofService, access, work);
  // Before it is opened: a vault whose keys were made gets no new ones, also if its key object is lost.
  await run((tx) => noteRebuilt(tx, place.vaultId, null));
  const vault = await vaults.open(place.accountId, place.vaultId);
  const report = await make(vault);
  let storedBytes = 0;
  for await (const { size } of vault.catalog.allPacks()) storedBytes += size;
  await run((tx) => noteRebuilt(tx, place.vaultId, storedBytes));
  const counts = { snapshots: 0, added: 0, lost_sources: 0 };
  const foreign: { name: string; reason: string }[] = [];
  let step: Awaited<ReturnType<typeof readRecovered>>[] = [];
  const add = async () => {
    const found = step;
    step = [];
    await run(async (tx) => {
      for (const each of found) {
        if (await addLostSource(tx, { ...place, sourceId: each.sourceId })) counts.lost_sources++;
        if (await addRecovered(tx, place, each)) counts.added++;
      }
    });
  };
  for await (const info of allSnapshots(vault.catalog)) {
    try {
      step.push(await readRecovered(vault, info));
      counts.snapshots++;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      foreign.push({ name: vault.names.manifest(info.id), reason: error.message });
    }
    if (step.length >= rowsPerStep) await add();
  }
  await add();
  const absent = await settleAbsent({ transactions }, place, vault);
  await run((tx) => recoverActs(tx, random, place, vault));
  return {
    ...{ vault_id: place.vaultId, account_id: place.accountId, packs: report.packs, ...counts, ...absent },
    ...{ hidden: report.hidden, unconfirmed: report.unconfirmed, incomplete: report.incomplete },
    refused: [...report.refused, ...foreign],
    chain_faults: report.chainFaults,
    lost_frames: report.lostFrames.length,
  };
}

/**
 * Snapshots of the table that the catalog does not have. Where the chain says that one was deleted, its row says so too; otherwise
 * nobody could read it, and it would be shown as completed. One that the chain still has is hidden, and named by the rebuild.
 */
async function settleAbsent({ transactions }: Pick<Parts, "transactions">, place: VaultPlace, vault: Vault) {
  const access = { kind: "account", accountId: place.accountId } as const;
  const missing: string[] = [];
  let removed = 0;
  for (let after: string | null = null; ; ) {
    const from: string | null = after;
    const ids: readonly string[] = await transactions.read(ofService, access, (tx) =>
      unremovedPage(tx, place, from, rowsPerStep),
    );
    const gone: { id: string; expiresAt: number | null }[] = [];
    for (const id of ids) {
      if ((await vault.catalog.snapshot(engineId(id))) !== null) continue;
      const signed = await signedPresence(vault, engineId(id));
      if (signed.is === "deleted") gone.push({ id, expiresAt: signed.expiresAt });
      else if (signed.is === "unknown") missing.push(id);
    }
    await transactions.run(ofService, access, async (tx) => {
      for (const { id, expiresAt } of gone)
        await noteRemoved(tx, place, { id, letGoAt: expiresAt === null ? tx.now : new Date(expiresAt) });
    });
    removed += gone.length;
    if (ids.length < rowsPerStep) return { removed, missing };
    after = ids.at(-1) ?? null;
  }
}

/** Whether everything that the chain of the vault and the table name is there. */
function isWhole({ hidden, missing, incomplete, chain_faults, lost_frames }: VaultResult): boolean {
  return hidden.length + missing.length + incomplete.length + chain_faults.length + lost_frames === 0;
}
