/** `PATCH /v1/agents/{id}`: an agent reports its machine; people rename it and change its vaults. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { allowedVaults, writerOf } from "../../vaults/index.ts";
import { recordRevocation } from "../jobs.ts";
import { mailAboutAgent } from "../mail-about-agent.ts";
import { type AccountPrincipal, agentId, requireManager, shared, writes } from "../rules.ts";
import { agentFields, agentSchema, agentShape } from "../shapes.ts";
import {
  type AgentRow,
  findAgent,
  insertVaults,
  lockAgent,
  noteSeen,
  removedVaults,
  removeVaults,
  updateAgent,
  type VaultRegistration,
} from "../store.ts";
import { registerWith, wantedVaults } from "../vault-keys.ts";

const change = closed(
  {
    name: Type.Optional(agentFields.name),
    host: Type.Optional(agentFields.host),
    os: Type.Optional(agentFields.os),
    version: Type.Optional(agentFields.version),
    allow_overwrite: Type.Optional(agentFields.allow_overwrite),
    roots: Type.Optional(agentFields.roots),
    vaults: Type.Optional(agentFields.vaults),
  },
  { title: "AgentChange" },
);

export const updateAgentFacts = endpoint(
  {
    ...shared,
    id: "agents.update",
    method: "PATCH",
    path: "/v1/agents/{id}",
    summary: "Change an agent",
    description:
      "The agent itself may change everything but `vaults`; the call also says that it lives, and the answer names the newest version of the agent. A manager or owner with a fresh second factor may change `name` and `vaults`. A vault that was taken from an agent cannot be given back to the same key.",
    access: writes,
    params: agentId,
    body: change,
    ifMatch: "optional",
    replies: { 200: { description: "The agent.", body: agentSchema } },
    errors: ["state_conflict", "insufficient_scope", "insufficient_role", "step_up_required", "unavailable"],
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const { accountId } = principal;
    const now = ctx.clock.now();
    const seen = allowedVaults(principal);
    const found = await ctx.read(rowAccessOf(principal), (tx) => findAgent(tx, accountId, params.id));
    if (found === undefined) throw new Problem("not_found");
    const isItself = requireRight(principal, found, body, now, language);
    const added = (body.vaults ?? []).filter((id) => !found.vault_ids.includes(id));
    if (body.vaults !== undefined) await wantedVaults(ctx, principal, body.vaults, language);
    const registrations = await registerWith(ctx, accountId, added, found.public_key);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockAgent(tx, accountId, params.id);
      if (before === undefined) throw new Problem("not_found");
      requireMatch(agentShape(before, now, seen));
      const { version, vaults, ...facts } = body;
      await updateAgent(tx, accountId, params.id, {
        ...facts,
        ...(version !== undefined && { software_version: version }),
      });
      if (vaults !== undefined) await changeVaults(before, vaults, registrations);
      if (isItself) await noteSeen(tx, before);
      else {
        const metadata = { fields: Object.keys(body).sort().join(" ") };
        tx.audit({ action: "agent.changed", targets: [{ type: "agent", id: params.id }], metadata });
        await mailAboutAgent(tx, ctx, "agent_changed", before, principal);
      }
      const after = await findAgent(tx, accountId, params.id);
      if (after === undefined) throw new Error("an agent that was just changed is gone");
      return after;

      async function changeVaults(agent: AgentRow, wanted: readonly string[], signed: readonly VaultRegistration[]) {
        const gone = await removedVaults(tx, agent.id);
        if (wanted.some((id) => gone.includes(id))) throw new Problem("state_conflict");
        const missing = wanted.filter((id) => !agent.vault_ids.includes(id));
        if (missing.some((id) => !signed.some(({ vaultId }) => vaultId === id))) throw new Problem("state_conflict");
        await insertVaults(
          tx,
          accountId,
          agent.id,
          signed.filter(({ vaultId }) => missing.includes(vaultId)),
        );
        const taken = agent.vault_ids.filter((id) => !wanted.includes(id));
        if (taken.length === 0) return;
        await removeVaults(tx, agent.id, taken);
        await tx.job({ task: recordRevocation, payload: { accountId, agentId: agent.id } });
      }
    });
    return { status: 200, body: agentShape(row, now, seen) };
  },
);

/** Whether the agent itself asks. Throws unless the caller may change what the request names. */
function requireRight(
  principal: AccountPrincipal,
  agent: AgentRow,
  body: Static<typeof change>,
  now: Date,
  language: Language,
): boolean {
  const { kind, id } = writerOf(principal);
  const isItself = kind === agent.writer_kind && id === agent.writer_id;
  const ofOthers = isItself ? ["vaults"] : ["host", "os", "version", "allow_overwrite", "roots"];
  const wrong = ofOthers.filter((field) => Object.hasOwn(body, field));
  if (principal.kind !== "member" && !isItself) throw new Problem("not_found");
  if (!isItself) requireManager(principal, now);
  if (wrong.length > 0)
    throw new Problem("validation_failed", {
      errors: wrong.map((field) => invalidField(`/${field}`, "not_allowed", language)),
    });
  return isItself;
}
