/**
 * Agents: installed backup clients with a signing key. Owns the tables `agents` and `agent_vaults`.
 *
 * An agent belongs to the account, not to the person who allowed it. It is the key of one *writer*: a device grant, or an
 * OAuth client of the account. For each of its vaults the authority of the vault has signed the key (its *registration*),
 * and the agent repeats the registration in every upload. What an agent reads and what it may restore is not decided here.
 *
 * States: *live* → *revoked* (final). A vault can also be taken from a live agent, and is not given back: the chain of a
 * vault revokes a key for ever.
 *
 * Invariants
 * - A writer has one live agent, and a key belongs to one agent of an account for ever.
 * - The holder of the private key has signed the request that registers it.
 * - From the commit of a revocation on no operation accepts the agent. The record in the chain of each vault follows, and a
 *   job repeats it until it is there.
 */

export { agentEvents } from "./events.ts";
export { agentTasks } from "./jobs.ts";
export {
  type AgentRow,
  agentOfWriter,
  findAgent,
  lockAgent,
  noteResult,
  noteSeen,
  type UploadResult,
  unbindVault,
} from "./store.ts";
