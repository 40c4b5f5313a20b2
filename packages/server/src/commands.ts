/** Commands of an operator: each changes the database or the data folder and ends. */

import { rename } from "node:fs/promises";
import path from "node:path";
import type { Config } from "./config.ts";
import { eraseRows } from "./erasures/index.ts";
import { addStaff } from "./identity/index.ts";
import { monotonicMs } from "./kernel/clock.ts";
import { syncFolder } from "./kernel/durable-file.ts";
import { masterKeyFromFile } from "./kernel/secrets.ts";
import { StartError } from "./kernel/start-error.ts";
import { localMasterKey, pendingMasterKeyFile, rewrapRootKey } from "./keys/index.ts";
import { originOf } from "./listen.ts";
import { type RebuildResult, type RecoverResult, rebuildIndex, recoverService } from "./recovery/index.ts";
import { withFoundation } from "./start.ts";
import { openVaults } from "./vaults/index.ts";

/** Seals the root key with a new master key; says what to do next. */
export async function rewrapMasterKey(config: Config): Promise<string> {
  return withFoundation({ config, role: "migrate" }, async ({ pools, clock, random, folder, storage }) => {
    const sources = { owner: pools.owner, clock, random, openStore: () => storage.open() };
    if (config.masterKey !== null) {
      if (config.newMasterKey === null) {
        throw new StartError(
          "setting_unusable",
          "Set EMANET_NEW_MASTER_KEY to the new key (`openssl rand -base64 32`).",
        );
      }
      const next = localMasterKey(config.newMasterKey, random);
      await rewrapRootKey(sources, localMasterKey(config.masterKey, random), next);
      return "rewrapped: set EMANET_MASTER_KEY to the new key on every process before its next start";
    }
    const file = folder.path("master.key");
    const pending = pendingMasterKeyFile(file);
    const from = localMasterKey(await masterKeyFromFile(file, random), random);
    const to = localMasterKey(await masterKeyFromFile(pending, random), random);
    await rewrapRootKey(sources, from, to);
    await rename(pending, file);
    await syncFolder(path.dirname(file));
    return `rewrapped: ${file} holds the new key; keep a copy apart from the data folder`;
  });
}

/** Adds one of the platform's staff; the link is for them alone. */
export async function addStaffMember(config: Config, email: string, fullName: string): Promise<string> {
  if (!/^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/.test(email) || fullName.trim() === "") {
    throw new StartError("setting_unusable", "Usage: staff add <e-mail> <name>");
  }
  const publicUrl = config.publicUrl ?? originOf("https", config.listen.host, config.listen.port);
  return withFoundation({ config, role: "migrate" }, async ({ transactions, random, secrets }) => {
    const link = await addStaff({ transactions, random, secrets, publicUrl }, email, fullName.trim());
    return `added: enrol with ${link}`;
  });
}

export interface RecoveryCommand {
  /** Only this vault. */
  readonly vaultId?: string | undefined;
  readonly json: boolean;
  /** Gets a line about what is read, every two seconds. */
  readonly say: (line: string) => void;
}

/** What a command prints, and whether everything is there. */
export interface RecoveryOutcome {
  readonly text: string;
  readonly isWhole: boolean;
}

/** Makes the rows of a lost database again from the object store. */
export function rebuildIndexOf(config: Config, command: RecoveryCommand): Promise<RecoveryOutcome> {
  return withRecovery(config, command, (parts) => rebuildIndex(parts, command.vaultId));
}

/** Brings a database and an object store of different days together. */
export function recoverServiceOf(config: Config, command: RecoveryCommand): Promise<RecoveryOutcome> {
  return withRecovery(config, command, (parts) => recoverService(parts, "recover"));
}

/** Often enough for a person who waits. */
const progressEveryMs = 2_000;

async function withRecovery(
  config: Config,
  { json, say }: RecoveryCommand,
  work: (parts: Parameters<typeof rebuildIndex>[0]) => Promise<RebuildResult | RecoverResult>,
): Promise<RecoveryOutcome> {
  return withFoundation({ config, role: "migrate" }, async (foundation) => {
    const { pools, transactions, secrets, storage, clock, random } = foundation;
    let saidAtMs = monotonicMs();
    const onProgress = ({ vaultId, packs }: { vaultId: string; packs: number }) => {
      if (monotonicMs() < saidAtMs + progressEveryMs) return;
      saidAtMs = monotonicMs();
      say(`vault ${vaultId}: ${packs} packs read`);
    };
    const vaults = await openVaults(foundation);
    const store = await storage.open();
    const { signal } = new AbortController();
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const parts = {
      ...{ owner: pools.owner, transactions, secrets, clock, random, vaults, store, onProgress },
      eraseRows: ({ accountId, vaultId }: { readonly accountId: string; readonly vaultId: string }) =>
        eraseRows((inside) => transactions.run(context, { kind: "account", accountId }, inside), {
          ...{ accountId, vaultId, signal },
        }),
    };
    const result = await work(parts);
    return { text: json ? JSON.stringify(result) : describeRecovery(result), isWhole: result.whole };
  });
}

function describeRecovery(result: RebuildResult | RecoverResult): string {
  const snapshots = result.vaults.reduce((sum, vault) => sum + vault.snapshots, 0);
  const lines = [`${result.accounts} accounts, ${result.vaults.length} vaults, ${snapshots} snapshots`];
  for (const vault of result.vaults) {
    const name = `vault ${vault.vault_id}:`;
    for (const id of vault.hidden)
      lines.push(`${name} snapshot ${id} is missing: its chain has it, its manifest is not there`);
    for (const id of vault.missing)
      lines.push(`${name} snapshot ${id} is missing: the database has it, the object store has never seen it`);
    for (const id of vault.incomplete) lines.push(`${name} snapshot ${id} lacks content`);
    for (const id of vault.unconfirmed) lines.push(`${name} snapshot ${id} is not in the chain; it was kept`);
    for (const fault of vault.chain_faults) lines.push(`${name} ${fault.name}: ${fault.reason}`);
    for (const refused of vault.refused) lines.push(`${name} ${refused.name} was refused: ${refused.reason}`);
    if (vault.lost_frames > 0)
      lines.push(`${name} ${vault.lost_frames} frames are missing; the next backup may heal them`);
  }
  for (const vault of result.lost_vaults) lines.push(`vault ${vault.vault_id} cannot be opened: ${vault.reason}`);
  for (const name of result.damaged_records) lines.push(`${name} does not open`);
  if ("unknown_vaults" in result)
    for (const id of result.unknown_vaults) lines.push(`vault ${id} belongs to no account that is known`);
  lines.push(result.whole ? "everything is there" : "not everything is there: see above");
  return lines.join("\n");
}
