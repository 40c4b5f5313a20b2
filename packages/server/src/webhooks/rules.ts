/** Who may use what of webhooks. */

import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** Webhooks are off during early access. Events are recorded all the same. */
export function requireWebhooks({ account }: AccountPrincipal): void {
  if (account.earlyAccess) throw new Problem("feature_not_enabled");
}

/** The service's own pages follow events also where webhooks are off. */
export function requireEvents(principal: AccountPrincipal): void {
  if (principal.tokenKind !== "dashboard") requireWebhooks(principal);
}

/** A disabled webhook sends nothing, also not because somebody asks. */
export function requireEnabled({ state }: { readonly state: "enabled" | "disabled" }): void {
  if (state === "disabled") throw new Problem("state_conflict");
}
