/** `POST /v1/agents`: an agent registers its signing key, or a person registers that of a program. */

import { findClientById } from "../../accounts/index.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import type { Writer } from "../../vaults/index.ts";
import { agentRegistered } from "../events.ts";
import { mailAboutAgent } from "../mail-about-agent.ts";
import {
  type AccountPrincipal,
  isSignedByKey,
  maxAgents,
  maxAgentVaults,
  ownWriter,
  requireManager,
  shared,
  writes,
} from "../rules.ts";
import { agentFields, agentSchema, agentShape, bytesText, keysSchema } from "../shapes.ts";
import {
  type AgentRow,
  agentOfWriter,
  countAgents,
  findAgent,
  insertAgent,
  insertVaults,
  lockAgent,
  registrationsOf,
  removedVaults,
  type VaultRegistration,
} from "../store.ts";
import { registerWith, wantedVaults, writerKeysOf } from "../vault-keys.ts";

const newAgent = closed(
  {
    name: agentFields.name,
    host: Type.Optional(agentFields.host),
    os: Type.Optional(agentFields.os),
    version: Type.Optional(agentFields.version),
    allow_overwrite: Type.Optional(agentFields.allow_overwrite),
    roots: Type.Optional(agentFields.roots),
    vaults: Type.Optional(agentFields.vaults),
    client_id: Type.Optional(uuid("For people: the OAuth client that uploads with this key.")),
    public_key: bytesText(32, "The agent's Ed25519 public key, base64."),
    signature: bytesText(64, "Made with the private key; see the description. Base64."),
  },
  { title: "NewAgent" },
);

const created = closed({ agent: agentSchema, keys: keysSchema }, { title: "AgentCreated" });

export const createAgent = endpoint(
  {
    ...shared,
    id: "agents.create",
    method: "POST",
    path: "/v1/agents",
    summary: "Register an agent",
    description:
      "Registers the signing key of an agent with vaults, by default with the default vault. An agent that was allowed by its device code registers itself, and so does an OAuth client that has no agent yet; without `vaults`, with those that it is held to. A manager or owner with a fresh second factor can register the key of a client with `client_id`. `signature` is Ed25519 over `emanet v2 agent`, a zero byte and the SHA-256 of: the account's id (16 bytes), the session's id of the token (`sid`) or the `client_id` (16 bytes), and the public key (32 bytes). The same request again gets the same answer; a client that registered itself adds vaults this way. A key that was revoked is never accepted again.",
    access: writes,
    body: newAgent,
    replies: {
      201: { description: "The agent, and the keys with which it writes.", body: created },
    },
    errors: ["state_conflict", "insufficient_role", "step_up_required", "unavailable"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId } = principal;
    const writer = await writerOfRequest(ctx, principal, body, language);
    const publicKey = Buffer.from(body.public_key, "base64");
    if (!isSignedByKey({ accountId, writer, publicKey }, Buffer.from(body.signature, "base64")))
      throw new Problem("validation_failed", { errors: [invalidField("/signature", "not_allowed", language)] });
    const vaultIds = await wantedVaults(ctx, principal, body.vaults, language);
    const vaults = await registerWith(ctx, accountId, vaultIds, publicKey);
    const { version, client_id: _client, public_key: _key, signature: _signature, vaults: _vaults, ...facts } = body;
    const id = ctx.random.uuid();
    const made = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await agentOfWriter(tx, accountId, writer);
      if (before !== undefined) {
        if (!before.public_key.equals(publicKey)) throw new Problem("state_conflict");
        return body.vaults !== undefined && mayAddVaults(before)
          ? addVaults(tx, before, vaults)
          : { agent: before, registrations: await registrationsOf(tx, before.id) };
      }
      if ((await countAgents(tx, accountId)) >= maxAgents) throw new Problem("state_conflict");
      const createdBy = principal.memberId;
      const row = { id, accountId, writer, publicKey, createdBy, facts: { ...facts, software_version: version } };
      if (!(await insertAgent(tx, row, vaults))) throw new Problem("state_conflict");
      const agent = await findAgent(tx, accountId, id);
      if (agent === undefined) throw new Error("an agent that was just made is gone");
      const targets = [{ type: "agent", id }, ...vaultIds.map((vault) => ({ type: "vault", id: vault }))];
      tx.audit({ action: "agent.created", targets });
      tx.emit(agentRegistered, { agent_id: id });
      await mailAboutAgent(tx, ctx, "agent_created", agent, principal);
      return { agent, registrations: vaults };
    });
    const keys = await writerKeysOf(ctx, accountId, made.registrations);
    return { status: 201, body: { agent: agentShape(made.agent, ctx.clock.now(), null), keys } };
  },
);

/** A client that registered its key itself may write to every vault that it is not held from. What a person decided stays. */
function mayAddVaults({ writer_kind, created_by }: AgentRow): boolean {
  return writer_kind === "client" && created_by === null;
}

async function addVaults(tx: Tx, { id, account_id: accountId }: AgentRow, wanted: readonly VaultRegistration[]) {
  await lockAgent(tx, accountId, id);
  const known = await registrationsOf(tx, id);
  const gone = await removedVaults(tx, id);
  const added = wanted.filter(({ vaultId }) => !known.some((each) => each.vaultId === vaultId));
  const isRefused = added.some(({ vaultId }) => gone.includes(vaultId));
  if (isRefused || known.length + added.length > maxAgentVaults) throw new Problem("state_conflict");
  if (added.length > 0) {
    await insertVaults(tx, accountId, id, added);
    const targets = [{ type: "agent", id }, ...added.map(({ vaultId }) => ({ type: "vault", id: vaultId }))];
    tx.audit({ action: "agent.changed", targets, metadata: { fields: "vaults" } });
  }
  const agent = await findAgent(tx, accountId, id);
  if (agent === undefined) throw new Problem("not_found");
  return { agent, registrations: [...known, ...added] };
}

/** Who will upload with the key: the agent that asks, or the client that a person names. */
async function writerOfRequest(
  ctx: Ctx,
  principal: AccountPrincipal,
  body: Static<typeof newAgent>,
  language: Language,
): Promise<Writer> {
  const own = ownWriter(principal);
  const wrong = (code: "required" | "not_allowed") =>
    new Problem("validation_failed", { errors: [invalidField("/client_id", code, language)] });
  if (own !== null) {
    if (body.client_id !== undefined) throw wrong("not_allowed");
    return own;
  }
  requireManager(principal, ctx.clock.now());
  if (body.client_id === undefined) throw wrong("required");
  const client = await findClientById(ctx, body.client_id);
  const allowed = client?.vault_ids ?? null;
  const isHeldToOthers = allowed !== null && !(body.vaults ?? []).every((vault) => allowed.includes(vault));
  if (client?.account_id !== principal.accountId || isHeldToOthers || (allowed !== null && body.vaults === undefined))
    throw wrong("not_allowed");
  return { kind: "client", id: client.id };
}
