/** `POST /v1/agents/{id}/replace`: an agent takes the place of one whose key is lost. */

import { revokeSession } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { moveWriter } from "../../vaults/index.ts";
import { recordRevocation } from "../jobs.ts";
import { mailAboutAgent } from "../mail-about-agent.ts";
import { agentId, maxAgentVaults, shared } from "../rules.ts";
import { agentSchema, agentShape } from "../shapes.ts";
import { type AgentRow, findAgent, insertVaults, lockAgent, removedVaults, revokeAgent } from "../store.ts";
import { registerWith } from "../vault-keys.ts";

export const replaceAgent = endpoint(
  {
    id: "agents.replace",
    method: "POST",
    path: "/v1/agents/{id}/replace",
    tag: shared.tag,
    summary: "Replace an agent whose key is lost",
    description:
      "For a machine that lost its signing key: it signs in again, which makes a new agent, and a manager or owner lets the new agent take the place of the old one. The new agent gets the vaults and the sources of the old one; the old one is revoked, and its open orders fail. Only for agents of device grants.",
    access: { kind: "account", scope: "snapshots:write", roles: ["owner", "manager"] },
    stepUp: true,
    params: agentId,
    body: closed({ agent_id: uuid("The old agent.") }, { title: "AgentReplacement" }),
    replies: { 200: { description: "The new agent.", body: agentSchema } },
    errors: ["state_conflict", "unavailable"],
  },
  async (ctx, { principal, params, body, language }) => {
    const { accountId } = principal;
    const read = (id: string) => ctx.read(rowAccessOf(principal), (tx) => findAgent(tx, accountId, id));
    const fresh = await read(params.id);
    if (fresh === undefined) throw new Problem("not_found");
    const old = requireOld(fresh, await read(body.agent_id), language);
    const wanted = old.vault_ids.filter((id) => !fresh.vault_ids.includes(id));
    if (fresh.vault_ids.length + wanted.length > maxAgentVaults) throw new Problem("state_conflict");
    const registrations = await registerWith(ctx, accountId, wanted, fresh.public_key);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const [now, before] = await lockBoth(tx, fresh, old);
      // The vaults of both are those for which the key was signed.
      if (before.vault_ids.some((id) => !old.vault_ids.includes(id))) throw new Problem("state_conflict");
      if (!fresh.vault_ids.every((id) => now.vault_ids.includes(id))) throw new Problem("state_conflict");
      const gone = await removedVaults(tx, now.id);
      if (wanted.some((id) => gone.includes(id))) throw new Problem("state_conflict");
      await insertVaults(
        tx,
        accountId,
        now.id,
        registrations.filter(({ vaultId }) => before.vault_ids.includes(vaultId)),
      );
      const writer = (id: string) => ({ kind: "agent", id }) as const;
      await moveWriter(
        tx,
        accountId,
        { from: writer(before.writer_id), to: writer(now.writer_id) },
        principal.memberId,
      );
      await revokeAgent(tx, before);
      await revokeSession(tx, before.writer_id, "revoked");
      await tx.job({ task: recordRevocation, payload: { accountId, agentId: before.id } });
      const targets = [before.id, now.id].map((id) => ({ type: "agent", id }));
      tx.audit({ action: "agent.replaced", targets });
      await mailAboutAgent(tx, ctx, "agent_removed", before, principal);
      await mailAboutAgent(tx, ctx, "agent_changed", now, principal);
      const after = await findAgent(tx, accountId, now.id);
      if (after === undefined) throw new Error("an agent that was just changed is gone");
      return after;
    });
    return { status: 200, body: agentShape(row, ctx.clock.now(), null) };
  },
);

/** Throws `validation_failed` unless both are different agents of device grants. */
function requireOld(fresh: AgentRow, old: AgentRow | undefined, language: Language): AgentRow {
  const areMachines = fresh.writer_kind === "agent" && old?.writer_kind === "agent";
  if (old === undefined || old.id === fresh.id || !areMachines)
    throw new Problem("validation_failed", { errors: [invalidField("/agent_id", "not_allowed", language)] });
  return old;
}

/** Both, locked in the order of their ids, so that two requests that name them the other way round do not wait for each other. */
async function lockBoth(tx: Tx, fresh: AgentRow, old: AgentRow): Promise<readonly [AgentRow, AgentRow]> {
  const locked = new Map<string, AgentRow>();
  for (const id of [fresh.id, old.id].sort()) {
    const row = await lockAgent(tx, fresh.account_id, id);
    if (row === undefined) throw new Problem("state_conflict");
    locked.set(id, row);
  }
  return [locked.get(fresh.id) ?? fresh, locked.get(old.id) ?? old];
}
