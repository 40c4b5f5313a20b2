/**
 * Refresh tokens rotate as the refresh cookie does. The first one of a grant is random; every other one is a keyed hash
 * of the one before it, so the same successor can be given again without a token being stored.
 *
 * States of a refresh token: *current* → (first use) *previous*: for 30 seconds, and while its successor is unused, it
 * is answered with that same successor and a new access token → *old*: a use ends the grant.
 *
 * A use is judged under the grant's lock, so the order holds over all processes.
 */

import { repeatWindowMs } from "../identity/index.ts";
import type { Artifact } from "./store.ts";
import type { Visit } from "./visit.ts";

/** The token that follows; only we can compute it. */
export function successorOf({ ctx }: Visit, token: string): string {
  return ctx.secrets.digest("oauth-successor", token).toString("base64url");
}

/** Whether a spent token was spent so recently that it may be shown again; its successor has to be unused, too. */
export function isRecent({ tx }: Visit, { kind, consumedAt }: Artifact): boolean {
  if (kind !== "RefreshToken" || consumedAt === null) return false;
  return tx.now.getTime() - consumedAt.getTime() <= repeatWindowMs;
}

/** The previous token was shown again in time: allowed, and written down. */
export async function auditRepeat({ tx, found: { grant } }: Visit): Promise<void> {
  if (grant === undefined) throw new Error("a refresh token was used and no grant was looked for");
  const { id, accountId, memberId, clientId } = grant;
  const targets = [
    { type: "session", id },
    { type: "person", id: memberId },
    { type: "client", id: clientId },
  ];
  await tx.within({ kind: "account", accountId }, async (inner) => {
    inner.audit({ action: "oauth.refresh_repeated", targets });
  });
}
