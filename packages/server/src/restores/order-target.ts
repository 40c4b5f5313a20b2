/** Whether an agent may be ordered to restore: its vaults, and what its machine has said that it permits. The machine checks again. */

import { type AgentRow, findAgent } from "../agents/index.ts";
import { invalidField } from "../kernel/http/validate.ts";
import type { Principal } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { ReadTx } from "../kernel/tx.ts";
import type { NewOrder } from "./order-store.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** The target of a request. */
export interface AgentTarget {
  readonly agent_id?: string | undefined;
  readonly path?: string | undefined;
  readonly on_conflict?: NewOrder["on_conflict"] | undefined;
}

/** Throws `validation_failed` unless the agent may restore from the vault to this place. */
export async function orderTarget(
  tx: ReadTx,
  principal: AccountPrincipal,
  vaultId: string,
  target: AgentTarget,
  language: Language,
): Promise<Pick<NewOrder, "agent_id" | "path" | "on_conflict">> {
  const { agent_id: id, path = null, on_conflict: conflict = "rename" } = target;
  const refused = (field: string, code: "required" | "not_allowed") =>
    new Problem("validation_failed", { errors: [invalidField(`/target/${field}`, code, language)] });
  if (id === undefined) throw refused("agent_id", "required");
  const agent = await findAgent(tx, principal.accountId, id);
  // An agent without the vault is answered like one that is not there.
  if (!agent?.vault_ids.includes(vaultId)) throw refused("agent_id", "not_allowed");
  if (path !== null && !isPermitted(agent, path)) throw refused("path", "not_allowed");
  if (conflict === "overwrite" && !agent.allow_overwrite) throw refused("on_conflict", "not_allowed");
  return { agent_id: agent.id, path, on_conflict: conflict };
}

/**
 * Whether a folder is a root of the agent or below one. Machines with Windows compare without case, and know both slashes.
 *
 * @example
 * isPermitted({ roots: ["/srv/restore"] }, "/srv/restore/2026") // true
 * isPermitted({ roots: ["/srv/restore"] }, "/srv/restore/../../etc") // false
 */
export function isPermitted({ roots }: Pick<AgentRow, "roots">, path: string): boolean {
  return roots.some((root) => {
    const [top, wanted] = isWindows(root) ? [windowsPath(root), windowsPath(path)] : [root, path];
    const parts = wanted.split("/");
    if (parts.includes("..") || parts.includes(".")) return false;
    const above = top.endsWith("/") ? top : `${top}/`;
    return wanted === top || wanted.startsWith(above);
  });
}

function isWindows(root: string): boolean {
  return /^([A-Za-z]:|\\\\)/.test(root);
}

function windowsPath(path: string): string {
  return path.replaceAll("\\", "/").toLowerCase();
}
