/** Finds the upload of a call and who may use it. What is not the caller's is answered like what does not exist. */

import { LocalTarget, recheckDamagedFrames, signerId, type Vault } from "@emanet/engine";
import { type AgentRow, agentOfWriter, noteSeen } from "../agents/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { actorOf, type Principal, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { findSnapshot, isCreator, type SnapshotRecord } from "../snapshots/index.ts";
import { isVaultAllowed, writerName, writerOf } from "../vaults/index.ts";

export type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** An upload, the agent that makes it, and its vault. */
export interface OpenUpload {
  readonly principal: AccountPrincipal;
  readonly record: SnapshotRecord;
  readonly agent: AgentRow;
  readonly vault: Vault;
  readonly local: LocalTarget;
  /** Reads with row access to the account. */
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
  /** One transaction with row access to the account, in the caller's name. */
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  /** The same for what must be undone or ended, also when the client has left. */
  readonly settle: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
}

/** A step that has begun is not ended when the client leaves: it will ask again. */
const endless = new AbortController().signal;

/** Throws `not_found`, `agent_required` or `state_conflict`. */
export async function openUpload(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<OpenUpload> {
  const { accountId } = principal;
  const writer = writerOf(principal);
  const run = <T>(work: (tx: Tx) => Promise<T>) => ctx.tx(rowAccessOf(principal), work);
  const read = <T>(work: (tx: ReadTx) => Promise<T>) => ctx.read(rowAccessOf(principal), work);
  const [record, agent] = await read((tx) =>
    Promise.all([findSnapshot(tx, accountId, id), agentOfWriter(tx, accountId, writer)]),
  );
  if (record === undefined || !isVaultAllowed(principal, record.vault_id) || !isCreator(principal, record))
    throw new Problem("not_found");
  if (agent === undefined || !agent.vault_ids.includes(record.vault_id)) throw new Problem("agent_required");
  if (record.upload_kind !== "upload") throw new Problem("state_conflict");
  const context = await run(async (tx) => {
    await noteSeen(tx, agent);
    return { actor: actorOf(principal), context: tx.auditOrigin, signal: endless };
  });
  const vault = await ctx.services.vaults.open(accountId, record.vault_id, context);
  const local = new LocalTarget({
    ...{ access: vault, upload: record.id, owner: writerName(writer), authority: vault.authority },
    writerId: signerId(agent.public_key),
    scope: record.is_write_only ? "lineage" : "vault",
    recheck: () => recheckDamagedFrames(vault),
  });
  const { transactions } = ctx.services.snapshots;
  const settle = <T>(work: (tx: Tx) => Promise<T>) => transactions.run(context, rowAccessOf(principal), work);
  return { principal, record, agent, vault, local, read, run, settle };
}
