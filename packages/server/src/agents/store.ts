/** All SQL of agents. A revoked agent is not found, except by the job that records its revocation. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AgentsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { Writer } from "../vaults/index.ts";
import { seenPrecisionMs } from "./rules.ts";

/** A live agent with its vaults. */
export type AgentRow = Selectable<AgentsRow> & { readonly vault_ids: readonly string[] };

export interface NewAgent {
  readonly id: string;
  readonly accountId: string;
  readonly writer: Writer;
  readonly publicKey: Uint8Array;
  readonly createdBy: string | null;
  readonly facts: AgentFacts & { readonly name: string };
}

/** What an agent says about its machine. */
export interface AgentFacts {
  readonly name?: string | undefined;
  readonly host?: string | null | undefined;
  readonly os?: string | null | undefined;
  readonly software_version?: string | null | undefined;
  readonly allow_overwrite?: boolean | undefined;
  readonly roots?: readonly string[] | undefined;
}

export interface VaultRegistration {
  readonly vaultId: string;
  readonly registration: Uint8Array;
}

function agents(tx: ReadTx, accountId: string) {
  return tx.db
    .selectFrom("agents")
    .selectAll("agents")
    .select(
      sql<string[]>`array(select vault_id from agent_vaults where agent_id = agents.id and removed_at is null
        order by registered_at, vault_id)`.as("vault_ids"),
    )
    .where("agents.account_id", "=", accountId)
    .where("agents.revoked_at", "is", null);
}

export async function findAgent(tx: ReadTx, accountId: string, id: string): Promise<AgentRow | undefined> {
  return agents(tx, accountId).where("agents.id", "=", id).executeTakeFirst();
}

/** The live agent of a writer. */
export async function agentOfWriter(tx: ReadTx, accountId: string, writer: Writer): Promise<AgentRow | undefined> {
  if (writer.kind === "member") return undefined;
  return agents(tx, accountId)
    .where("agents.writer_kind", "=", writer.kind)
    .where("agents.writer_id", "=", writer.id)
    .executeTakeFirst();
}

/** A page of agents; of those with one of these vaults, where a list is given. */
export async function listAgents(
  tx: ReadTx,
  accountId: string,
  vaultIds: readonly string[] | null,
  page: PageStart,
): Promise<AgentRow[]> {
  let select = agents(tx, accountId);
  if (vaultIds !== null)
    select = select.where(
      sql<boolean>`exists (select from agent_vaults where agent_id = agents.id and removed_at is null
        and vault_id = any (${vaultIds}::uuid[]))`,
    );
  return pageRows(select, page, "agents");
}

/** Locks the account's agents against others that are made at the same time, and counts them. */
export async function countAgents(tx: Tx, accountId: string): Promise<number> {
  await sql`select from accounts where id = ${accountId} for no key update`.execute(tx.db);
  const { count } = await tx.db
    .selectFrom("agents")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns false if the key, or the writer's place, is taken. */
export async function insertAgent(tx: Tx, agent: NewAgent, vaults: readonly VaultRegistration[]): Promise<boolean> {
  const { name, host = null, os = null, software_version = null, allow_overwrite = false, roots = [] } = agent.facts;
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("agents")
    .values({
      id: agent.id,
      account_id: agent.accountId,
      writer_kind: agent.writer.kind === "client" ? "client" : "agent",
      writer_id: agent.writer.id,
      ...{ name, host, os, software_version, allow_overwrite },
      roots: [...roots],
      public_key: Buffer.from(agent.publicKey),
      created_by: agent.createdBy,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) return false;
  await insertVaults(tx, agent.accountId, agent.id, vaults);
  return true;
}

export async function insertVaults(
  tx: Tx,
  accountId: string,
  agentId: string,
  vaults: readonly VaultRegistration[],
): Promise<void> {
  if (vaults.length === 0) return;
  await tx.db
    .insertInto("agent_vaults")
    .values(
      vaults.map(({ vaultId, registration }) => ({
        agent_id: agentId,
        vault_id: vaultId,
        account_id: accountId,
        registration: Buffer.from(registration),
        registered_at: tx.now,
      })),
    )
    .execute();
}

/** The registrations of an agent, by vault. */
export async function registrationsOf(tx: ReadTx, agentId: string): Promise<VaultRegistration[]> {
  const rows = await tx.db
    .selectFrom("agent_vaults")
    .select(["vault_id", "registration"])
    .where("agent_id", "=", agentId)
    .where("removed_at", "is", null)
    .orderBy("registered_at")
    .orderBy("vault_id")
    .execute();
  return rows.map(({ vault_id: vaultId, registration }) => ({ vaultId, registration }));
}

/** Vaults that the agent once had. */
export async function removedVaults(tx: ReadTx, agentId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("agent_vaults")
    .select("vault_id")
    .where("agent_id", "=", agentId)
    .where("removed_at", "is not", null)
    .execute();
  return rows.map(({ vault_id }) => vault_id);
}

/** Locks a live agent. */
export async function lockAgent(tx: Tx, accountId: string, id: string): Promise<AgentRow | undefined> {
  return agents(tx, accountId).where("agents.id", "=", id).forUpdate("agents").executeTakeFirst();
}

export async function updateAgent(tx: Tx, accountId: string, id: string, change: AgentFacts): Promise<void> {
  const { roots, ...facts } = change;
  await tx.db
    .updateTable("agents")
    .set({ ...facts, ...(roots && { roots: [...roots] }), updated_at: tx.now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Takes vaults from an agent. */
export async function removeVaults(tx: Tx, agentId: string, vaultIds: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("agent_vaults")
    .set({ removed_at: tx.now })
    .where("agent_id", "=", agentId)
    .where("vault_id", "=", sql<string>`any (${vaultIds}::uuid[])`)
    .where("removed_at", "is", null)
    .execute();
}

/** Takes a deleted vault from every agent. Nothing is recorded in its chain: it ends with the vault. */
export async function unbindVault(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await tx.db
    .updateTable("agent_vaults")
    .set({ removed_at: tx.now, revocation_recorded_at: tx.now })
    .where("account_id", "=", accountId)
    .where("vault_id", "=", vaultId)
    .where("removed_at", "is", null)
    .execute();
}

export async function revokeAgent(tx: Tx, { id, account_id: accountId, vault_ids: vaultIds }: AgentRow): Promise<void> {
  await tx.db
    .updateTable("agents")
    .set({ revoked_at: tx.now, updated_at: tx.now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
  await removeVaults(tx, id, vaultIds);
}

/** The vaults whose chain has no record yet that the agent lost them, and the agent's key. */
export async function unrecordedRevocations(tx: ReadTx, accountId: string, agentId: string) {
  return (
    tx.db
      .selectFrom("agent_vaults")
      .innerJoin("agents", "agents.id", "agent_vaults.agent_id")
      // The chain of an erased vault is gone.
      .innerJoin("vaults", (join) =>
        join.onRef("vaults.id", "=", "agent_vaults.vault_id").on("vaults.erasing_at", "is", null),
      )
      .select(["agent_vaults.vault_id", "agents.public_key"])
      .where("agent_vaults.account_id", "=", accountId)
      .where("agent_vaults.agent_id", "=", agentId)
      .where("agent_vaults.removed_at", "is not", null)
      .where("agent_vaults.revocation_recorded_at", "is", null)
      .execute()
  );
}

export async function noteRevocation(tx: Tx, agentId: string, vaultId: string): Promise<void> {
  await tx.db
    .updateTable("agent_vaults")
    .set({ revocation_recorded_at: tx.now })
    .where("agent_id", "=", agentId)
    .where("vault_id", "=", vaultId)
    .execute();
}

/** Records that an agent lives, to the minute. */
export async function noteSeen(tx: Tx, agent: Pick<AgentRow, "id" | "last_seen_at">): Promise<void> {
  const isRecent = agent.last_seen_at !== null && tx.now.getTime() - agent.last_seen_at.getTime() < seenPrecisionMs;
  if (isRecent) return;
  await tx.db.updateTable("agents").set({ last_seen_at: tx.now }).where("id", "=", agent.id).execute();
}

/** How an upload ended. */
export interface UploadResult {
  readonly snapshotId: string;
  readonly result: "completed" | "failed" | "canceled";
  /** The code of the snapshot's failure; null of a completed one. */
  readonly failure: string | null;
}

/**
 * Records how the last upload of a writer ended, where the writer has an agent. With the commit: uploads of one agent that end at the same
 * time wait for each other no longer than that.
 */
export function noteResult(tx: Tx, writer: Writer, { snapshotId, result, failure }: UploadResult): void {
  if (writer.kind === "member") return;
  const { sql: text, parameters: values } = tx.db
    .updateTable("agents")
    .set({ last_snapshot_id: snapshotId, last_result: result, last_failure_code: failure, last_result_at: tx.now })
    .where("writer_kind", "=", writer.kind)
    .where("writer_id", "=", writer.id)
    .where("revoked_at", "is", null)
    .compile();
  tx.atCommit({ text, values });
}
