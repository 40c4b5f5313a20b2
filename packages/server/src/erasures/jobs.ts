/** Erases vaults, one job a vault. Every step can be repeated; a job that was killed is done again from its first step. */

import { type Vault, vaultNames } from "@emanet/engine";
import type { ObjectStore } from "@emanet/engine/object-store";
import { listOwnersAnd } from "../accounts/index.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, PermanentJobError, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Log } from "../kernel/log.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { ReadTx, Transactions, Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { writeRecordOf } from "../recovery/index.ts";
import { deleteVaultRows, type ErasureDecision, erasureDecision } from "../retention/index.ts";
import { earliestTime, findAnyDefaultVault, findAnyVault, vaultBytes } from "../vaults/index.ts";
import { type Decided, openDecided, sealDecided } from "./decided.ts";
import { proofOf } from "./proof.ts";
import { eraseRows } from "./row-store.ts";
import {
  countSnapshots,
  type ErasureRow,
  endErasure,
  erasedToCheck,
  findErasure,
  hasOtherVaults,
  insertErasure,
  noteAsked,
  noteChecked,
  noteKeysDestroyed,
  vaultsToErase,
} from "./store.ts";

interface Payload {
  readonly accountId: string;
  readonly vaultId: string;
}

type Ports = ServicePorts & {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
  readonly publicUrl: () => string;
};

interface Steps extends Payload {
  readonly ports: Ports;
  readonly store: ObjectStore;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  /** The earliest of three clocks. */
  readonly now: Date;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** A million objects at 200 deletions a second; what takes longer is done by the next run. */
const eraseTimeoutMs = 2 * hourMs;
/** Jobs that one run enqueues, and erased vaults that one run looks at; the next run takes the others. */
const vaultsPerRun = 200;
/** An old copy of the store is rare; a list per erased vault and day is cheap. */
const checkAfterMs = dayMs;

export const eraseVault = task<Payload, Ports>("erasures.erase_vault", {
  parse: parsePayload,
  retry: retryAfter(5 * minuteMs, hourMs),
  timeoutMs: eraseTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId }, { ports, signal, log, clock }) {
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const steps: Steps = {
      ...{ accountId, vaultId, ports, signal, log, clock, now: await earliestTime({ clock, ports, signal }) },
      store: await ports.services.recovery.openStore(),
      run: (work) => ports.transactions.run(context, access, work),
      read: (work) => ports.transactions.read(context, access, work),
    };
    const begun = await beginErasure(steps);
    if (begun === null) return;
    // A rebuild from the store must know of it before the keys are gone.
    await writeRecordOf(ports, accountId, signal);
    ports.services.vaults.forget(accountId, vaultId);
    await destroyKeys(steps, begun.epoch);
    const decided = await noteDestroyed(steps, begun.decided);
    await destroy(steps, prefixOf(vaultId));
    await eraseRows(steps.run, { accountId, vaultId, signal });
    await finish(steps, decided);
  },
});

interface Begun {
  readonly decided: Decided;
  /** The newest epoch of the keys. */
  readonly epoch: number;
}

/** The erasure that has begun, or a new one. Null: it may not begin, or has ended. */
async function beginErasure(steps: Steps): Promise<Begun | null> {
  const { accountId, vaultId, ports, run, read } = steps;
  const { before, known } = await read(async (tx) => ({
    before: await findErasure(tx, accountId, vaultId),
    known: await findAnyVault(tx, accountId, vaultId),
  }));
  if (before?.state === "erased" || known === undefined) return null;
  const decided = before === undefined ? null : openDecided(ports.secrets, before);
  // Somebody else has written the row.
  if (before !== undefined && decided === null) throw refused(steps);
  const vault = await ports.services.vaults.openToErase(accountId, vaultId);
  const epoch = Math.max(vault?.keys.epoch ?? 1, known.key_epoch);
  // Without keys there is nothing left to protect, and no chain to ask.
  if (vault === null && decided !== null) return { decided, epoch };
  // Its keys were there. Who cannot ask the chain does not know what it keeps.
  if (vault === null && known.keys_made_at !== null) throw refused(steps);
  if ((await run((tx) => decide(steps, tx, vault))) === null) {
    // The service asks the chain before it begins.
    if (decided !== null) throw refused(steps);
    await run((tx) => noteAsked(tx, vaultId));
    return null;
  }
  if (decided !== null) return { decided, epoch };
  const counts = await countObjects(steps);
  const made = await run(async (tx) => {
    // Asked again, with the lock that holds and locks take: one that was accepted meanwhile is in the chain, and one that comes later finds no vault.
    const decision = await decide(steps, tx, vault);
    if (decision === null) return null;
    const id = ports.random.uuid();
    const fresh = { ...{ id, accountId, vaultId, ...decision, ...counts }, begunAt: tx.now, keysDestroyedAt: null };
    const row = await insertErasure(tx, fresh, sealDecided(ports.secrets, fresh));
    await deleteVaultRows(tx, { accountId, vaultId, sourceId: null });
    const metadata = { cause: decision.cause, act_id: decision.actId };
    tx.audit({ action: "vault.erasure_begun", targets: targetsOf(row), metadata });
    return openDecided(ports.secrets, row);
  });
  return made && { decided: made, epoch };
}

function refused({ log, vaultId }: Steps): PermanentJobError {
  log.error("erasure_refused", { target_id: vaultId });
  return new PermanentJobError("erasure_refused");
}

/** What the signed chains decide; null: the vault stays. Until the end of the transaction nobody holds or locks anything in it. */
async function decide(steps: Steps, tx: Tx, vault: Vault | null): Promise<ErasureDecision | null> {
  const { accountId, vaultId, ports, signal, now } = steps;
  const standard = await findAnyDefaultVault(tx, accountId);
  // Its chain decides about the others: it goes last.
  if (standard?.id === vaultId && (await hasOtherVaults(tx, accountId))) return null;
  const ofClosing = standard === undefined ? null : await ports.services.vaults.openToErase(accountId, standard.id);
  return erasureDecision({ vault, ofClosing, vaultId, now, signal }, tx);
}

/** The time of the first run that has come so far stays. */
async function noteDestroyed({ ports, run }: Steps, decided: Decided): Promise<Decided> {
  if (decided.keysDestroyedAt !== null) return decided;
  return run(async (tx) => {
    const noted = { ...decided, keysDestroyedAt: tx.now };
    await noteKeysDestroyed(tx, decided.id, tx.now, sealDecided(ports.secrets, noted));
    return noted;
  });
}

async function countObjects({ store, vaultId, read }: Steps) {
  let [keyObjects, objects, bytes] = [0, 0, 0];
  for await (const { name, size } of store.list(prefixOf(vaultId))) {
    if (name.startsWith(`${prefixOf(vaultId)}keys/`)) keyObjects++;
    objects++;
    bytes += size;
  }
  return { keyObjects, objects, bytes, snapshots: await read((tx) => countSnapshots(tx, vaultId)) };
}

/** The names of key objects are known, so this does not depend on a list alone: a list may lag. */
async function destroyKeys({ store, signal, vaultId }: Steps, epochs: number): Promise<void> {
  const names = vaultNames(vaultBytes(vaultId));
  await destroy({ store, signal }, names.keys);
  for (let epoch = 1; epoch <= epochs; epoch++)
    for (const name of [names.keyObject(epoch), names.keyCopy(epoch)]) {
      await store.delete(name, { signal });
      if ((await store.stat(name, { signal })) !== null) throw new Error(`${name} is still there`);
    }
}

/** Deletes everything under a prefix, and lists again until nothing is there: some servers lag, and an upload may have just ended. */
async function destroy({ store, signal }: Pick<Steps, "store" | "signal">, prefix: string): Promise<number> {
  let deleted = 0;
  for (let found = true; found; ) {
    found = false;
    for await (const { name } of store.list(prefix, { signal })) {
      found = true;
      deleted++;
      await store.delete(name, { signal });
    }
  }
  return deleted;
}

async function finish(steps: Steps, decided: Decided): Promise<void> {
  const { accountId, vaultId, ports, run } = steps;
  const { id, cause, actId, objects, bytes } = decided;
  const erasedAt = steps.clock.now();
  const payload = proofOf(decided, erasedAt, ports.publicUrl());
  const proof = await ports.services.receipts.sign({ typ: "emanet-erasure+jws" }, payload);
  await run(async (tx) => {
    if (!(await endErasure(tx, id, { proof, erasedAt }))) return;
    const metadata = { cause, act_id: actId, objects, bytes };
    tx.audit({ action: "vault.erased", targets: targetsOf({ id, vault_id: vaultId }), metadata });
    for (const { role, state, email: to, language } of await listOwnersAnd(tx, accountId, [])) {
      if (role !== "owner" || state !== "active") continue;
      const values = { vault_id: vaultId, erasure_id: id, proof };
      const message = mailMessage({ id: ports.random.uuid(), to, language, template: "vault_erased", values });
      await tx.job({ task: sendMessage, payload: message });
    }
  });
}

function targetsOf(row: Pick<ErasureRow, "id" | "vault_id">) {
  return [
    { type: "erasure", id: row.id },
    { type: "vault", id: row.vault_id },
  ];
}

/** Everything of a vault in the store is under this prefix. */
function prefixOf(vaultId: string): string {
  return `vaults/${vaultBytes(vaultId).toString("hex")}/`;
}

function parsePayload(payload: unknown): Payload {
  const { accountId, vaultId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string")
    throw new TypeError("the payload must name an account and a vault");
  return { accountId, vaultId };
}

/** Enqueues an erasure of every vault that waits for one. The job asks the chain. */
export const findVaultsToErase = task<Readonly<Record<string, never>>, Ports>("erasures.find_vaults", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      for (const { account_id: accountId, vault_id: vaultId } of await vaultsToErase(tx, vaultsPerRun))
        await tx.job({
          ...{ task: eraseVault, payload: { accountId, vaultId }, key: vaultId },
          exclusiveKey: `upkeep ${vaultId}`,
        });
    });
  },
});

/** An old copy of the store has the objects of erased vaults, and an old dump their names: both are erased again. */
export const checkErased = task<Readonly<Record<string, never>>, Ports>("erasures.check_erased", {
  parse: noPayload,
  retry: retryAfter(),
  timeoutMs: hourMs,
  async run(_payload, { ports, signal, log }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const access = { kind: "system" } as const;
    const store = await ports.services.recovery.openStore();
    const due = await ports.transactions.read(context, access, (tx) =>
      erasedToCheck(tx, new Date(tx.now.getTime() - checkAfterMs), vaultsPerRun),
    );
    for (const row of due) {
      signal.throwIfAborted();
      const { id, account_id: accountId, vault_id: vaultId } = row;
      if (openDecided(ports.secrets, row) === null) {
        // Somebody else has written the row: there may be a good vault.
        log.error("erasure_refused", { target_id: vaultId });
      } else {
        const count = await destroy({ store, signal }, prefixOf(vaultId));
        if (count > 0) log.error("erased_objects_were_back", { target_id: vaultId, count });
        const ofAccount = { kind: "account", accountId } as const;
        const run = <T>(work: (tx: Tx) => Promise<T>) => ports.transactions.run(context, ofAccount, work);
        if (row.checked_at === null) await eraseRows(run, { accountId, vaultId, signal });
      }
      await ports.transactions.run(context, access, (tx) => noteChecked(tx, id));
    }
  },
});
