/** Which vaults an agent may write to. */

import type { Agent } from "@emanet/client/source";
import { client } from "./client.ts";
import { perform } from "./step-up.ts";

/** Vaults that are added in one request: the service makes the keys of each, and has half a minute for a request. */
const vaultsPerRequest = 10;

/** Takes away what is not wanted, then gives the new ones, some at a time. */
export async function changeVaults(
  { id, vaults }: Pick<Agent, "id" | "vaults">,
  wanted: readonly string[],
  onGiven: (given: number) => void = () => undefined,
): Promise<Agent> {
  const kept = vaults.filter((vault) => wanted.includes(vault));
  const added = wanted.filter((vault) => !vaults.includes(vault));
  for (let at = vaultsPerRequest; ; at += vaultsPerRequest) {
    const next = [...kept, ...added.slice(0, at)];
    const agent = await perform(({ idempotencyKey: _key, ...options }) =>
      client.agents.update({ id, body: { vaults: next } }, options),
    );
    onGiven(next.length);
    if (at >= added.length) return agent;
  }
}
