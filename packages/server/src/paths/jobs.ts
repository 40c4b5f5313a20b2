/** The job that makes the projection of a vault, and the task that finds vaults whose job did not end. */

import type { Random } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { Projector } from "./projector.ts";
import { beginClearing, retrySkipped, vaultsToProject } from "./store.ts";

type Ports = ServicePorts & {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly random: Random;
};

export interface ProjectPayload {
  readonly accountId: string;
  readonly vaultId: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Ten million files; what takes longer goes on where it was. */
const projectTimeoutMs = 2 * hourMs;
/** What was not done is found again after this time. */
const findEveryMs = 10 * minuteMs;
/** Jobs that one run enqueues; the next run takes the other vaults. */
const vaultsPerRun = 1000;
/** A damaged tree may have been healed. */
const retrySkippedAfterMs = 24 * hourMs;

export const projectVault = task<ProjectPayload, Ports>("paths.project_vault", {
  parse: parsePayload,
  retry: retryAfter(minuteMs, 5 * minuteMs, hourMs),
  timeoutMs: projectTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId }, { ports, signal, log, progress }) {
    const { transactions, services, secrets, random } = ports;
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const projector = new Projector({
      ...{ accountId, vaultId, secrets, random, signal },
      vault: await services.vaults.open(accountId, vaultId),
      run: (work) => transactions.run(context, access, work),
      read: (work) => transactions.read(context, access, work),
      onStep: progress,
      onDamage: (snapshotId) => log.error("projection_skipped", { target_id: snapshotId }),
    });
    await projector.run();
  },
});

function parsePayload(payload: unknown): ProjectPayload {
  const { accountId, vaultId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string")
    throw new TypeError("the payload must name an account and a vault");
  return { accountId, vaultId };
}

/**
 * One at a time per vault. There is no key: a job that runs may have looked for work already, so what is enqueued now has a job of its
 * own. A job without work costs two statements.
 */
export async function enqueueProjection(tx: Tx, payload: ProjectPayload): Promise<void> {
  await tx.job({ task: projectVault, payload, exclusiveKey: `projection ${payload.vaultId}` });
}

/** Enqueues a job for every vault whose projection lacks something: of snapshots from before a migration, and of jobs that failed. */
export const findVaultsToProject = task<Readonly<Record<string, never>>, Ports>("paths.find_vaults_to_project", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      await retrySkipped(tx, new Date(tx.now.getTime() - retrySkippedAfterMs));
      for (const { account_id: accountId, vault_id: vaultId } of await vaultsToProject(tx, vaultsPerRun))
        await tx.job({
          ...{ task: projectVault, payload: { accountId, vaultId }, key: vaultId },
          exclusiveKey: `projection ${vaultId}`,
        });
    });
  },
});

/** Deletes a projection and makes it again. Returns false if the vault has none. */
export async function rebuildProjection(tx: Tx, payload: ProjectPayload): Promise<boolean> {
  const isBegun = await beginClearing(tx, payload.vaultId);
  if (isBegun) await enqueueProjection(tx, payload);
  return isBegun;
}

export const pathTasks = [projectVault];
export const pathRecurrences = [recurring(findVaultsToProject, { everyMs: findEveryMs })];
